import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import * as z from 'zod';

const workflow = z.looseObject({
  jobs: z.record(
    z.string(),
    z.looseObject({
      steps: z.array(z.looseObject({ run: z.string().optional(), uses: z.string().optional() })),
    }),
  ),
});

/** A command of the release workflow and the job that runs it; each job begins with a fresh checkout. */
export interface WorkflowCommand {
  readonly job: string;
  readonly command: string;
}

/** Commands that a rehearsal omits: their packages are installed, and it must not publish to npm or GitHub. */
const LEFT_OUT: readonly string[] = [
  'npm ci --no-audit --no-fund',
  'npm publish ./dist/package --provenance --access public',
  'gh release create "$RELEASE_TAG" --verify-tag --generate-notes dist/release/gpu-rent*',
];

/** Returns the commands of a workflow in the order of its file. */
export function commandsOf(text: string): readonly WorkflowCommand[] {
  return Object.entries(workflow.parse(parse(text)).jobs).flatMap(([job, { steps }]) =>
    steps.flatMap(({ run }) => (run === undefined ? [] : [{ job, command: run.trim() }])),
  );
}

/**
 * Returns the commands of `.github/workflows/release.yml` that need no service: all that the list above does not omit.
 */
export function rehearsedCommands(repository: string): readonly WorkflowCommand[] {
  const text = readFileSync(join(repository, '.github/workflows/release.yml'), 'utf8');
  return commandsOf(text).filter(({ command }) => !LEFT_OUT.includes(command));
}
