import type { Mutant } from './catalogue.ts';

/** What became of one mutant. */
export interface Verdict {
  readonly mutant: Mutant;
  readonly killed: boolean;
  /** The seed, the plan or the tests that found it. */
  readonly by: string;
  readonly invariant: string;
  /** To the first kill. */
  readonly seconds: number;
}

/** The page of all mutants. */
export function reportOf(verdicts: readonly Verdict[], total: number): string {
  const rows = verdicts.map(({ mutant, killed, by, invariant, seconds }) => {
    const how = invariant === '' ? '' : ` (${invariant.replaceAll('|', '/')})`;
    const found = killed ? `${by}${how}` : '**survived**';
    return `| ${mutant.name} | ${mutant.loses} | ${found} | ${seconds} |`;
  });
  const killed = verdicts.filter((verdict) => verdict.killed);
  const times = killed.map(({ seconds }) => seconds).sort((a, b) => a - b);
  return `# Mutants

Each mutant removes or weakens one safety step of the protocol in a copy of \`src\`. It counts as killed when
the simulation breaks a promise, or, where that finds nothing, when a unit test fails. Reproduce with
\`node test/simulation/mutants/main.ts\`, which writes this page; one with \`--only <name>\`.

Killed: ${killed.length} of ${verdicts.length} that were judged (${total} in the catalogue); median time to the first kill ${times[Math.floor(times.length / 2)] ?? 0} s.

| Mutant | What is lost | First found by | Seconds |
|---|---|---|---|
${rows.join('\n')}
`;
}
