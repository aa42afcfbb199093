DROP TABLE archiving;
