-- Scenes and exchanges are embedded without their dates, and exchanges hold nothing of what was said around them. Words and
-- vectors stay in use until the worker has indexed and embedded the documents again.
UPDATE document SET embedded_by = 0, text = (
    SELECT s.action || CASE WHEN s.feeling = '' THEN '' ELSE ' / ' || s.feeling END FROM scene AS s
    WHERE s.workspace_id = document.workspace_id AND s.id = document.item_id)
WHERE kind = 'scene' AND text LIKE '[%' AND EXISTS (
    SELECT 1 FROM scene AS s WHERE s.workspace_id = document.workspace_id AND s.id = document.item_id);
UPDATE document SET embedded_by = 0, details = title || ' ' || details, title = '', context = ''
WHERE kind = 'exchange' AND title <> '';
