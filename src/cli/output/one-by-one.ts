import { CommandError } from '../command-error.ts';
import type { ChangeReport, Output } from './output.ts';

/**
 * Changes one thing after another and stops at the first failure. Text output appears at once. JSON and YAML are one
 * document: for one thing its report, for several the list of the changes, even if there is only one. It is written
 * even if a later change fails, before the failure is thrown, which names the failed thing and those not tried.
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

/** Returns the failure among several things: the failed one, and those not tried. */
async function stoppedAt(error: unknown, things: readonly string[], index: number): Promise<unknown> {
  if (things.length === 1) return error;
  const { failureParts } = await import('../failures/describe-failure.ts');
  const { what, remedy, exitCode } = failureParts(error);
  const untried = things.slice(index + 1).join(', ');
  const rest = untried === '' ? ', the last of them.' : `. Not tried after it: ${untried}.`;
  const message = [...what, `That was ${things[index]}${rest}`].join('\n');
  return new CommandError(message, { exitCode, remedy, cause: error });
}
