import type { ChangeReport, Output } from './output.ts';

/**
 * Changes one thing after another and ends at the first that fails. People read each line as soon as it is so;
 * JSON and YAML are one document: of one changed thing the report itself, of several their list. It is written
 * also where a later one fails, before the failure is thrown.
 */
export async function changeOneByOne<Thing>(
  output: Output,
  things: readonly Thing[],
  change: (thing: Thing) => Promise<ChangeReport>,
): Promise<void> {
  const isOneDocument = output.format === 'json' || output.format === 'yaml';
  const done: ChangeReport[] = [];
  try {
    for (const thing of things) {
      const report = await change(thing);
      if (isOneDocument) done.push(report);
      else await output.changed([report]);
    }
  } finally {
    if (done.length > 0) await output.changed(done);
  }
}
