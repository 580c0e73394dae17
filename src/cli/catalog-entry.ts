import type { Command } from './command.ts';

/** A command that is loaded only when it is asked for: help and completion stay quick. */
export interface CatalogEntry {
  /** As typed: `operator`, `search offers`. */
  readonly name: string;
  readonly summary: string;
  /** Other words for it, e.g. `list instance`. */
  readonly aliases?: readonly string[];
  readonly load: () => Promise<Command>;
}

/** Commands that belong together, under one heading of the help. */
export interface CatalogGroup {
  readonly heading: string;
  readonly entries: readonly CatalogEntry[];
}
