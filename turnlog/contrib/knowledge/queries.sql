-- All SQL of the library but its migrations. Every statement about documents names the owners.

-- keep_document --
-- A document that waits to be indexed; nothing if the owner has it already.
INSERT INTO documents (id, owner, title, source, sha256, state, done, passages, added_at, added_by, content)
VALUES (:id, :owner, :title, :source, :sha256, 'waiting', 0, 0, :added_at, :added_by, :content)
ON CONFLICT (owner, sha256, title) DO NOTHING

-- same_document --
-- The one that an owner has already.
SELECT id, owner, title, source, state, done, passages, error, added_at, added_by
FROM documents WHERE owner = :owner AND sha256 = :sha256 AND title = :title

-- get_document --
-- One document, if one of the owners has it.
SELECT id, owner, title, source, state, done, passages, error, added_at, added_by
FROM documents WHERE id = :id AND owner IN (SELECT value FROM json_each(:owners))

-- list_documents --
-- What the owners have, newest first.
SELECT id, owner, title, source, state, done, passages, error, added_at, added_by
FROM documents WHERE owner IN (SELECT value FROM json_each(:owners)) ORDER BY added_at DESC, id

-- count_documents --
-- How many an owner has.
SELECT count(*) FROM documents WHERE owner = :owner

-- next_waiting --
-- The oldest that nobody has indexed to its end. For the server itself, whoever owns it.
SELECT id, title, content, done FROM documents WHERE state = 'waiting' ORDER BY added_at, id LIMIT 1

-- keep_passage --
-- One of them.
INSERT INTO passages (document_id, place, heading, page, text, vector)
VALUES (:document_id, :place, :heading, :page, :text, :vector)

-- keep_words --
-- What full-text search finds it by.
INSERT INTO words (rowid, title, heading, text) VALUES (:id, :title, :heading, :text)

-- advance --
-- How far the indexing is.
UPDATE documents SET done = :done, passages = :passages WHERE id = :id

-- finish --
-- It can be found from now on, or never; its content is needed no more.
UPDATE documents SET state = :state, error = :error, content = NULL WHERE id = :id

-- delete_document --
-- With its passages and their words.
DELETE FROM documents WHERE id = :id AND owner IN (SELECT value FROM json_each(:owners))

-- find_by_words --
-- Passages of the owners, best first; words in headings count more.
SELECT p.id, bm25(words, 2.0, 1.5, 1.0) AS score FROM words
JOIN passages p ON p.id = words.rowid
JOIN documents d ON d.id = p.document_id
WHERE words MATCH :match AND d.state = 'ready' AND d.owner IN (SELECT value FROM json_each(:owners))
ORDER BY score LIMIT :most

-- list_vectors --
-- Of all passages of one owner.
SELECT p.id, p.vector FROM passages p JOIN documents d ON d.id = p.document_id
WHERE d.state = 'ready' AND d.owner = :owner AND p.vector IS NOT NULL ORDER BY p.id

-- get_passages --
-- These passages with their documents, if they are the owners'.
SELECT p.id, p.document_id, d.title, d.source, p.heading, p.page, p.text, d.owner
FROM passages p JOIN documents d ON d.id = p.document_id
WHERE p.id IN (SELECT value FROM json_each(:ids))
  AND d.owner IN (SELECT value FROM json_each(:owners))
