import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { blocksToRun, codeBlocks, commandsOf, RUN_PAGES } from './code-blocks.ts';

/*
 * Every command of README, tutorials and how-to pages is run by a test to its end. A block that none runs has a comment
 * above it that says why; its commands are parsed all the same (commands.test.ts, kubectl-commands.integration.test.ts).
 */

/** The tests that run a page, each block that has no such comment. */
const RUNNERS: Readonly<Record<string, readonly string[]>> = {
  'README.md': ['test/docs/code-blocks.integration.test.ts'],
  'docs/how-to/access.md': ['test/docs/operations.integration.test.ts'],
  'docs/how-to/agents.md': ['test/agent/agent-role.ts'],
  'docs/how-to/cli.md': ['test/docs/how-to.integration.test.ts'],
  'docs/how-to/cost-per-team.md': ['test/docs/how-to.integration.test.ts'],
  'docs/how-to/gateway.md': [
    'test/docs/how-to.integration.test.ts',
    'test/gateway/tls-recipes.integration.test.ts',
  ],
  'docs/how-to/gitops.md': ['test/docs/how-to.integration.test.ts'],
  'docs/how-to/install.md': [
    'test/docs/operations.integration.test.ts',
    'test/install/switch.integration.test.ts',
  ],
  'docs/how-to/recovery.md': ['test/docs/operations.integration.test.ts'],
  'docs/how-to/simulator.md': ['test/docs/how-to.integration.test.ts'],
  'docs/how-to/stop-spending.md': ['test/docs/how-to.integration.test.ts'],
  'docs/how-to/troubleshooting.md': ['test/docs/how-to.integration.test.ts'],
  'docs/how-to/worker-reports.md': [
    'test/docs/how-to.integration.test.ts',
    'test/docs/worker-reports.integration.test.ts',
  ],
  'docs/tutorials/batch-job.md': ['test/docs/tutorials.integration.test.ts'],
  'docs/tutorials/fine-tuning.md': ['test/docs/tutorials.integration.test.ts'],
  'docs/tutorials/first-machine.md': ['test/docs/code-blocks.integration.test.ts'],
  'docs/tutorials/gitops.md': ['test/docs/gitops-tutorial.verify.test.ts'],
  'docs/tutorials/playground.md': ['test/docs/tutorials.integration.test.ts'],
  'docs/tutorials/ssh-machine.md': ['test/docs/tutorials.integration.test.ts'],
  'docs/tutorials/vllm.md': ['test/docs/tutorials.integration.test.ts'],
};

const COMMAND =
  /^(\$ |(sudo |[A-Z_]+=\S+ )*(kubectl|gpu-rent|helm|make|docker|npm|npx|curl|git|export|kustomize) )/m;

test('each page with commands has a test that runs them', () => {
  const pages = RUN_PAGES.filter((page) => blocksToRun(page).length > 0);
  expect(Object.keys(RUNNERS)).toEqual(pages);
});

test.each(Object.entries(RUNNERS).flatMap(([page, files]) => files.map((file) => [page, file] as const)))(
  '%s is read by %s',
  (page, file) => {
    expect(readFileSync(join(REPOSITORY, file), 'utf8')).toContain(page);
  },
);

describe.each(RUN_PAGES)('%s', (page) => {
  const blocks = codeBlocks(page);

  test('shows commands in blocks of sh or console alone, so that they are run', () => {
    const others = blocks.filter(({ language }) => !['sh', 'console', 'bash'].includes(language));
    expect(others.filter(({ text }) => COMMAND.test(text)).map(({ text }) => text)).toEqual([]);
  });

  test('says why for each block that no test runs', () => {
    const excepted = blocks.filter(({ notRun }) => notRun !== undefined);
    for (const { notRun = '' } of excepted) {
      expect(notRun.split(' ').length).toBeGreaterThan(3);
      for (const path of notRun.match(/(?:test|src)\/[\w./-]+/g) ?? [])
        expect(existsSync(join(REPOSITORY, path)), path).toBe(true);
    }
    // A comment that stands above no block excepts nothing.
    const comments = readFileSync(join(REPOSITORY, page), 'utf8').match(/<!-- not run:/g) ?? [];
    expect(comments).toHaveLength(excepted.length);
  });

  test('names targets of make that exist', () => {
    const targets = new Set(readFileSync(join(REPOSITORY, 'Makefile'), 'utf8').match(/^[a-z-]+(?=:)/gm));
    const named = blocks.flatMap((block) => [...commandsOf(block).matchAll(/(?:^|\s)make ([a-z-]+)/gm)]);
    expect(named.map(([, target = '']) => target).filter((target) => !targets.has(target))).toEqual([]);
  });
});
