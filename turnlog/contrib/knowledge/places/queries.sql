-- What PostgreSQL is told in another way than SQLite.

-- keep_passage --
-- One of them, with the words that it is found by: A of the title, B of headings, D of the text.
INSERT INTO passages (document_id, place, heading, page, text, vector, length, words)
VALUES (:document_id, :place, :heading, :page, :text, :vector, :length,
        setweight(to_tsvector('english', :title), 'A')
        || setweight(to_tsvector('english', :head), 'B') || to_tsvector('english', :body))

-- find_by_words --
-- For each passage of the owners and each word of the query in it: how often in title, headings and
-- text. No more passages than can be ordered; those that PostgreSQL likes best.
WITH asked AS (
    SELECT array_agg(lexeme) AS lexemes, string_agg(quote_literal(lexeme), ' | ')::tsquery AS any_of
    FROM unnest(to_tsvector('english', :words))
), candidates AS (
    SELECT p.id, p.length, p.words FROM asked, passages p JOIN documents d ON d.id = p.document_id
    WHERE p.words @@ asked.any_of AND d.state = 'ready' AND d.owner IN ({owners})
    ORDER BY ts_rank(p.words, asked.any_of) DESC, p.id LIMIT :most
)
SELECT c.id, c.length, found.lexeme,
       cardinality(array_positions(found.weights, 'A')),
       cardinality(array_positions(found.weights, 'B')),
       cardinality(array_positions(found.weights, 'D'))
FROM asked, candidates c, unnest(c.words) AS found WHERE found.lexeme = ANY (asked.lexemes)

-- count_passages --
-- How many the owners have.
SELECT CAST(coalesce(sum(passages), 0) AS BIGINT) FROM documents
WHERE state = 'ready' AND owner IN ({owners})

-- claim --
-- The oldest that nobody is at work on. Two nodes never get the same one.
UPDATE documents SET claimed_by = :me, claimed_until = :until WHERE id = (
    SELECT id FROM documents WHERE state = 'waiting' AND claimed_until <= :now
    ORDER BY added_at, id LIMIT 1 FOR UPDATE SKIP LOCKED
) RETURNING id, owner, title, content, done
