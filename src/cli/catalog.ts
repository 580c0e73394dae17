import type { Command } from './command.ts';

/** A command that is loaded only when it is asked for: help and completion stay quick. */
export interface CatalogEntry {
  /** As typed: `operator`, `search offers`. */
  readonly name: string;
  readonly summary: string;
  readonly load: () => Promise<Command>;
}

/** Every command, in the order in which help shows them. */
export const catalog: readonly CatalogEntry[] = [
  {
    name: 'operator',
    summary: 'Run the operator.',
    load: async () => (await import('./commands/operator.ts')).operatorCommand,
  },
  {
    name: 'simulator',
    summary: 'Run a whole marketplace on loopback, with time, money and faults.',
    load: async () => (await import('./commands/simulator.ts')).simulatorCommand,
  },
];
