"""What a person does with one scene: correct it, split it, move it, and undo what was done."""

from everloom.surfaces.page.pages.scene.changing import PATHS

__all__ = ["PATHS"]
