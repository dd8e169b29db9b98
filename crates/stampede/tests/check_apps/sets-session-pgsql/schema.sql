CREATE TABLE teas (name TEXT);
INSERT INTO teas VALUES ('Assam');
CREATE SCHEMA archive;
CREATE TABLE archive.teas (name TEXT);
INSERT INTO archive.teas VALUES ('Keemun');
