"""Scenes: what a scene is, how it is parsed, stored, merged and pinned, and the clusters that scenes belong to.

Refuses to know patrols, recall and entries, which build on this room.
"""

from everloom.episodic.scenes.clusters import Cluster
from everloom.episodic.scenes.editing import MergedNodes, merge_nodes, pin_node, show_node
from everloom.episodic.scenes.history import FieldChange, SceneChange, SceneHistory, node_history
from everloom.episodic.scenes.node import Node
from everloom.episodic.scenes.overview import (
    ClusterMap,
    EmotionHistory,
    SceneList,
    emotions_over_time,
    list_scenes,
    map_clusters,
)
from everloom.episodic.scenes.scene import Emotion, Scene, When

__all__ = [
    "Cluster",
    "ClusterMap",
    "Emotion",
    "EmotionHistory",
    "FieldChange",
    "MergedNodes",
    "Node",
    "Scene",
    "SceneChange",
    "SceneHistory",
    "SceneList",
    "When",
    "emotions_over_time",
    "list_scenes",
    "map_clusters",
    "merge_nodes",
    "node_history",
    "pin_node",
    "show_node",
]
