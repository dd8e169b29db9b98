CREATE TABLE digit (d INTEGER NOT NULL PRIMARY KEY);

INSERT INTO digit (d) VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9);

CREATE TABLE world (id INTEGER NOT NULL PRIMARY KEY, number INTEGER NOT NULL);

INSERT INTO world (id, number)
SELECT n.id, (7919 * n.id) % 10000
FROM (
    SELECT 1 + a.d + 10 * b.d + 100 * c.d + 1000 * e.d AS id
    FROM digit a CROSS JOIN digit b CROSS JOIN digit c CROSS JOIN digit e
) n;

DROP TABLE digit;
