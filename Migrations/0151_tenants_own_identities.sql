-- A sign-in that a tenant vouches for by itself (its own provider, its hook, its operators) counts in
-- that tenant alone: subjects are public, and anybody may claim one within a tenant of his own.
ALTER TABLE identities ADD COLUMN tenants_word boolean NOT NULL DEFAULT false;
