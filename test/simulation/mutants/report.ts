import { type Evidence, type Kill, nameOf } from './kill.ts';
import type { Mutant } from './mutant.ts';

/** Renders the page of all mutants and their findings. */
export function reportOf(mutants: readonly Mutant[], known: ReadonlyMap<string, Evidence>): string {
  const rows = mutants.map((mutant) => rowOf(mutant, known.get(mutant.name) ?? {}));
  const found = mutants.flatMap(({ name }) => known.get(name) ?? []);
  const simulated = found.flatMap(({ simulation }) => simulation ?? []);
  const killed = found.filter(({ simulation, test }) => simulation || test);
  const byTables = found.filter(({ test }) => test);
  return `# Mutants

Each mutant removes or weakens one safety step of the protocol in a copy of \`src\`, with its second guard where it has
one. The simulation has to turn red: a story, a seeded schedule or a plan of single faults breaks a promise (I1 to I15 of
[reliability.md](reliability.md)), a seeded world of the gateway one of its queue (\`test/simulation/gateway\`), or a seeded world whose cluster is erased or away one of machines that end themselves (\`test/simulation/deadman\`, with an I7 to I9 of its own). Beside it stands the unit test that fails with the mutant and passes without it.

\`npx node test/simulation/mutants/main.ts\` runs them all and writes this page; \`--only <name>\` one, \`--rotate 10\` ten,
others each day, \`--scope simulation\` or \`--scope tables\` looks in one of them alone, \`--fresh\` searches anew instead of
trying first what killed it before (\`test/simulation/mutants/kills.json\`). Seconds are those of the search, of
processor time, the start of the process included.

Killed: ${killed.length} of ${mutants.length}, ${simulated.length} by the simulation, ${byTables.length} by a unit test; median ${median(simulated)} s to the first kill in the simulation, most ${most(simulated)} s.

| Mutant | What is lost | Broken | First found in the simulation by | Seconds | Unit test that fails |
|---|---|---|---|---|---|
${rows.join('\n')}
${unseenOf(mutants)}`;
}

function unseenOf(mutants: readonly Mutant[]): string {
  const rows = mutants.flatMap(({ name, unseen }) =>
    unseen === undefined ? [] : [`| ${name} | ${unseen} |`],
  );
  if (rows.length === 0) return '';
  return `
## Survivors of the simulation

A unit test kills each of them; \`--unseen\` searches the simulation for them again.

| Mutant | Why the simulation does not show it |
|---|---|
${rows.join('\n')}
`;
}

function rowOf({ name, loses }: Mutant, { simulation, test }: Evidence): string {
  const seen = simulation
    ? [simulation.broken, nameOf(simulation.finding), String(simulation.seconds)]
    : ['', '**not found**', ''];
  const failing = test ? `\`${test.file}\`: ${test.name}` : simulation ? '' : '**none**';
  const cells = [name, loses, ...seen, failing];
  return `| ${cells.map((cell) => cell.replaceAll('|', '/').replaceAll('\n', ' ')).join(' | ')} |`;
}

const secondsOf = (kills: readonly Kill[]): readonly number[] =>
  kills.map(({ seconds }) => seconds).sort((a, b) => a - b);
const median = (kills: readonly Kill[]): number => secondsOf(kills)[Math.floor(kills.length / 2)] ?? 0;
const most = (kills: readonly Kill[]): number => secondsOf(kills).at(-1) ?? 0;
