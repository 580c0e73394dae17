import { type Kill, nameOf } from './kill.ts';
import type { Mutant } from './mutant.ts';

/** The page of all mutants and what killed them. */
export function reportOf(mutants: readonly Mutant[], kills: ReadonlyMap<string, Kill>): string {
  const rows = mutants.map((mutant) => rowOf(mutant, kills.get(mutant.name)));
  const found = mutants.flatMap(({ name }) => kills.get(name) ?? []);
  const simulated = found.filter(({ finding }) => finding.type !== 'test');
  return `# Mutants

Each mutant removes or weakens one safety step of the protocol in a copy of \`src\`. It is killed when the simulation
breaks a promise (I1 to I14 of [reliability.md](reliability.md)), or, where a schedule of three objects cannot show
the loss, when a test that passes without it fails.

\`npx node test/simulation/mutants/main.ts\` runs them all and writes this page; \`--only <name>\` one, \`--rotate 10\` ten,
others each day, \`--fresh\` searches anew instead of trying first what killed it before
(\`test/simulation/mutants/kills.json\`). Seconds are those of the search, of processor time.

Killed: ${found.length} of ${mutants.length}, ${simulated.length} by the simulation; median ${median(simulated)} s to the first kill, most ${most(simulated)} s.

| Mutant | What is lost | Broken | First found by | Seconds |
|---|---|---|---|---|
${rows.join('\n')}
`;
}

function rowOf({ name, loses }: Mutant, found: Kill | undefined): string {
  if (!found) return `| ${name} | ${loses} | | **not killed** | |`;
  const cells = [name, loses, found.broken, nameOf(found.finding), String(found.seconds)];
  return `| ${cells.map((cell) => cell.replaceAll('|', '/').replaceAll('\n', ' ')).join(' | ')} |`;
}

const secondsOf = (kills: readonly Kill[]): readonly number[] =>
  kills.map(({ seconds }) => seconds).sort((a, b) => a - b);
const median = (kills: readonly Kill[]): number => secondsOf(kills)[Math.floor(kills.length / 2)] ?? 0;
const most = (kills: readonly Kill[]): number => secondsOf(kills).at(-1) ?? 0;
