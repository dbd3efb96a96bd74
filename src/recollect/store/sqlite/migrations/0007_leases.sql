-- The moment when the current lease was given or last renewed. A clock that now shows much less was set back since, and
-- the end of the lease then says nothing.
ALTER TABLE job ADD COLUMN leased INTEGER;
