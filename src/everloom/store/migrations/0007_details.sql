-- What a document also tells, found by its words alone. `context`, what surrounds a document, is part of its vector, too;
-- a scene's setting and its dialogue are the scene's own.
ALTER TABLE document ADD COLUMN details TEXT NOT NULL DEFAULT '';
UPDATE document SET details = context, context = '' WHERE kind = 'scene';
