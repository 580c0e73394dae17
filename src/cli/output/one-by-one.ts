import { CommandError } from '../command-error.ts';
import type { ChangeReport, Output } from './output.ts';

/**
 * Changes one thing after another and ends at the first that fails. People read each line as soon as it is so;
 * JSON and YAML are one document: for one thing its report, for several the list of
 * what was done, were it a single one. It is written even if a later one fails, before the failure is
 * thrown, which then names that one and those not tried.
 */
export async function changeOneByOne(
  output: Output,
  things: readonly string[],
  change: (thing: string) => Promise<ChangeReport>,
): Promise<void> {
  const isOneDocument = output.format === 'json' || output.format === 'yaml';
  const done: ChangeReport[] = [];
  try {
    for (const [index, thing] of things.entries()) {
      const stopped = async (error: unknown) => Promise.reject(await stoppedAt(error, things, index));
      const report = await change(thing).catch(stopped);
      if (isOneDocument) done.push(report);
      else await output.changed([report]);
    }
  } finally {
    if (done.length > 0) await output.changed(done, { asList: things.length > 1 });
  }
}

/** A failure among several things: which one failed, and which were not tried any more. */
async function stoppedAt(error: unknown, things: readonly string[], index: number): Promise<unknown> {
  if (things.length === 1) return error;
  const { failureParts } = await import('../failures/describe-failure.ts');
  const { what, remedy, exitCode } = failureParts(error);
  const untried = things.slice(index + 1).join(', ');
  const rest = untried === '' ? ', the last of them.' : `. Not tried after it: ${untried}.`;
  const message = [...what, `That was ${things[index]}${rest}`].join('\n');
  return new CommandError(message, { exitCode, remedy, cause: error });
}
