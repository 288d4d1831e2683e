-- What refers to a row, found when that row goes: forgetting one thing reads what it touches, not the workspace. An engine
-- that deletes a row looks for what refers to it, too. Few rows refer to anything by these columns, the others cost nothing.
CREATE INDEX document_by_replacement ON document (workspace_id, retired_by) WHERE retired_by IS NOT NULL;
CREATE INDEX observation_by_replacement ON observation (workspace_id, superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX subject_by_single ON subject (workspace_id, single_understanding_id)
    WHERE single_understanding_id IS NOT NULL;
CREATE INDEX subject_by_structural ON subject (workspace_id, structural_understanding_id)
    WHERE structural_understanding_id IS NOT NULL;
CREATE INDEX intersection_by_understanding ON intersection (workspace_id, understanding_id)
    WHERE understanding_id IS NOT NULL;
CREATE INDEX session_state_by_understanding ON session_state (workspace_id, understanding_id)
    WHERE understanding_id IS NOT NULL;
CREATE INDEX scene_life_by_absorber ON scene_life (workspace_id, absorbed_into) WHERE absorbed_into IS NOT NULL;
CREATE INDEX note_by_scene ON note (workspace_id, scene_id) WHERE scene_id IS NOT NULL;
CREATE INDEX graph_file_by_item ON graph_file (workspace_id, item_id) WHERE item_id IS NOT NULL;
CREATE INDEX array_entry_by_exchange ON array_entry (workspace_id, exchange_id) WHERE exchange_id IS NOT NULL;
CREATE INDEX compaction_by_position ON compaction (workspace_id, position);
CREATE INDEX heartbeat_by_exchange ON heartbeat (workspace_id, exchange_id) WHERE exchange_id IS NOT NULL;
CREATE INDEX tombstone_digest_by_item ON tombstone_digest (workspace_id, item_id);
