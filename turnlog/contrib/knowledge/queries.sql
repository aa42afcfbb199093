-- All SQL of the library but its migrations. Every statement about documents names the owners.

-- keep_document --
-- A document that waits to be indexed; nothing if the owner has it already.
INSERT INTO documents (id, owner, title, source, sha256, state, done, passages, added_at, added_by, content)
VALUES (:id, :owner, :title, :source, :sha256, 'waiting', 0, :passages, :added_at, :added_by, :content)
ON CONFLICT (owner, sha256, title) DO NOTHING

-- same_document --
-- The one that an owner has already.
SELECT id, owner, title, source, state, done, passages, error, added_at, added_by
FROM documents WHERE owner = :owner AND sha256 = :sha256 AND title = :title

-- get_document --
-- One document, if one of the owners has it.
SELECT id, owner, title, source, state, done, passages, error, added_at, added_by
FROM documents WHERE id = :id AND owner IN ({owners})

-- list_documents --
-- What the owners have, newest first.
SELECT id, owner, title, source, state, done, passages, error, added_at, added_by
FROM documents WHERE owner IN ({owners}) ORDER BY added_at DESC, id

-- count_documents --
-- How many an owner has, and their passages.
SELECT count(*), coalesce(sum(passages), 0) FROM documents WHERE owner = :owner

-- claim --
-- The oldest that nobody is at work on. For the server itself, whoever owns it.
UPDATE documents SET claimed_by = :me, claimed_until = :until WHERE id = (
    SELECT id FROM documents WHERE state = 'waiting' AND claimed_until <= :now
    ORDER BY added_at, id LIMIT 1
) RETURNING id, owner, title, content, done

-- is_waiting --
-- A row where some document is not indexed to its end.
SELECT 1 FROM documents WHERE state = 'waiting' LIMIT 1

-- release_claims --
-- Nobody is at work.
UPDATE documents SET claimed_until = '' WHERE state = 'waiting'

-- release_mine --
-- This process stops: another one may go on at once.
UPDATE documents SET claimed_until = '' WHERE state = 'waiting' AND claimed_by = :me

-- keep_passage --
-- One of them.
INSERT INTO passages (document_id, place, heading, page, text, vector)
VALUES (:document_id, :place, :heading, :page, :text, :vector) RETURNING id

-- keep_words --
-- What full-text search finds it by.
INSERT INTO words (rowid, title, heading, text) VALUES (:id, :title, :heading, :text)

-- advance --
-- How far the indexing is. A row, if the document is there and still ours.
UPDATE documents SET done = :done, passages = :passages, claimed_until = :until
WHERE id = :id AND claimed_by = :me AND state = 'waiting' RETURNING id

-- finish --
-- It can be found from now on, or never; its content is needed no more.
UPDATE documents SET state = :state, error = :error, passages = done, content = NULL
WHERE id = :id AND claimed_by = :me AND state = 'waiting' RETURNING owner

-- touch_shelf --
-- What the owner's documents say has changed.
INSERT INTO shelves (owner, version) VALUES (:owner, 1)
ON CONFLICT (owner) DO UPDATE SET version = shelves.version + 1

-- list_shelves --
-- How often that has happened.
SELECT owner, version FROM shelves WHERE owner IN ({owners})

-- delete_document --
-- With its passages and their words.
DELETE FROM documents WHERE id = :id AND owner IN ({owners}) RETURNING owner

-- forget_words --
-- The index keeps the words of what was deleted until its parts are merged, so they are.
INSERT INTO words (words) VALUES ('optimize')

-- find_by_words --
-- Passages of the owners, best first; words in headings count more.
SELECT p.id, bm25(words, 2.0, 1.5, 1.0) AS score FROM words
JOIN passages p ON p.id = words.rowid
JOIN documents d ON d.id = p.document_id
WHERE words MATCH :match AND d.state = 'ready' AND d.owner IN ({owners})
ORDER BY score LIMIT :most

-- list_vectors --
-- Of the newest passages of one owner.
SELECT p.id, p.vector FROM passages p JOIN documents d ON d.id = p.document_id
WHERE d.state = 'ready' AND d.owner = :owner AND p.vector IS NOT NULL
ORDER BY p.id DESC LIMIT :most

-- get_passages --
-- These passages with their documents, if they are the owners'.
SELECT p.id, p.document_id, d.title, d.source, p.heading, p.page, p.text, d.owner
FROM passages p JOIN documents d ON d.id = p.document_id
WHERE p.id IN ({ids})
  AND d.owner IN ({owners})
