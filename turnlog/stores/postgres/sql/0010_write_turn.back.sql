DROP FUNCTION write_turn;
DROP FUNCTION may_begin;
