/** Results of the mutants of one file. Those that only loading a module reaches are not counted. */
export interface Score {
  readonly file: string;
  readonly killed: number;
  readonly survived: number;
  readonly uncovered: number;
}

/** The least share of mutants that the tests of a file have to notice. */
export const MIN_PERCENT = 90;

export function mutantsOf({ killed, survived, uncovered }: Score): number {
  return killed + survived + uncovered;
}

/** Returns the percentage, rounded down to a tenth, so that nothing passes by rounding. */
export function percentOf(score: Score): number {
  const mutants = mutantsOf(score);
  return mutants === 0 ? 100 : Math.floor((1000 * score.killed) / mutants) / 10;
}

/** Returns the documentation page with the scores. */
export function pageOf(scores: readonly Score[]): string {
  const all = scores.reduce(
    (sum, score) => ({
      file: 'all',
      killed: sum.killed + score.killed,
      survived: sum.survived + score.survived,
      uncovered: sum.uncovered + score.uncovered,
    }),
    { file: 'all', killed: 0, survived: 0, uncovered: 0 },
  );
  const rows = [...scores, all].map(
    (score) =>
      `| ${score.file === 'all' ? '**all**' : `\`${score.file}\``} | ${mutantsOf(score)} | ${score.killed} | ${percentOf(score)} |`,
  );
  return `${HEAD}\n| file | mutants | killed | % |\n|---|---|---|---|\n${rows.join('\n')}\n`;
}

const HEAD = `# Mutation score

Each operator, condition, text and call of the files that decide about money is changed in turn by the mutators of
StrykerJS, and the unit tests of its folder have to fail. \`npx node test/mutation/main.ts\` does it for all files and
writes this page; \`--only settle\` for those whose path contains that word, and lists what survives. A file of which less
than ${MIN_PERCENT} % are killed fails it. Changes that only loading a module reaches (names and reasons of rules, constants) are
not counted.
`;
