/**
 * `node test/foreign-jobs/main.ts`: manifests of other projects, with the relay as their program, on a real Kubernetes API.
 * Jobs run under the Job controller; JobSets, Workflows and TaskRuns under the controllers of their own projects, which
 * are built from their Go modules. `PLAIN=1`: six manifests that need no other controller. `ONLY`: files whose path matches.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { endWith, interruption, reasonOf } from '../../scripts/demo/ending.ts';
import { type CleanUp, openJobStage } from '../../scripts/demo/job-stage.ts';
import { plainView } from '../../scripts/demo/live-view.ts';
import { DEMO_NAMESPACE } from '../../scripts/demo/stage.ts';
import { ENGINES, startEngine } from './engines.ts';
import { type ForeignManifest, MANIFESTS, PLAIN } from './manifests.ts';
import { type ForeignJobsOutcome, ForeignJobsStory } from './story.ts';

const MAX_MACHINES = 64;
const MAX_REFUSED = 3;

const view = plainView({ write: (text) => process.stdout.write(text) });
const signal = interruption(view.heading);
const isPlain = process.env['PLAIN'] !== undefined;
const only = new RegExp(process.env['ONLY'] ?? '');
const manifests = (isPlain ? PLAIN : MANIFESTS).filter(({ file }) => only.test(file));

interface Outcome extends ForeignJobsOutcome {
  /** Absent after a success. */
  readonly result?: string;
}

const NOTHING: ForeignJobsOutcome = {
  ...{ manifests: manifests.length, asExpected: 0, refusedByField: 0, hung: 0 },
  ...{ machinesLeft: 0, outbid: 0, logLinesLost: 0 },
};

async function play(cleanUp: CleanUp): Promise<ForeignJobsOutcome> {
  const used = ENGINES.filter(({ tool }) => manifests.some(({ module }) => module.module === tool.module));
  const stage = await openJobStage({ tell: view.say, signal, cleanUp, maxMachines: MAX_MACHINES });
  view.say(`Logs: ${stage.stage.logFolder}`);
  for (const engine of used) {
    const folder = join(stage.folder, engine.tool.module.replaceAll('/', '-'));
    mkdirSync(folder);
    const { cluster, logFolder } = stage.stage;
    const place = { cluster, folder, logFolder, namespace: DEMO_NAMESPACE };
    const server = await startEngine(engine, place);
    cleanUp.push(() => server.stop(2_000));
    void server.ended.then((why) => view.say(why));
    view.say(`Controller of ${engine.tool.module} ${engine.tool.version} runs.`);
  }
  view.heading(`${manifests.length} manifests of other projects are applied`);
  return new ForeignJobsStory({
    ...stage,
    manifests,
    withOutbids: !isPlain,
    report: view.say,
    signal,
  }).play();
}

/** Returns why the outcome is no success; undefined for a success. */
function problemOf(outcome: ForeignJobsOutcome, expected: readonly ForeignManifest[]): string | undefined {
  const { asExpected, refusedByField, hung, machinesLeft, logLinesLost } = outcome;
  const refused = expected.filter(({ refusedBy }) => refusedBy !== undefined).length;
  if (hung > 0) return `${hung} manifests did not end`;
  if (machinesLeft > 0) return `${machinesLeft} machines still bill`;
  if (logLinesLost > 0) return `${logLinesLost} lines of logs are lost or doubled`;
  if (refused > MAX_REFUSED || refusedByField < refused)
    return 'manifests were refused otherwise than expected';
  const missing = expected.length - refused - asExpected;
  return missing > 0 ? `${missing} manifests ended otherwise than expected` : undefined;
}

async function main(): Promise<Outcome> {
  const cleanUp: CleanUp = [];
  try {
    const outcome = await play(cleanUp);
    const result = problemOf(outcome, manifests);
    return result === undefined ? outcome : { ...outcome, result };
  } catch (error) {
    const result = reasonOf(error, signal);
    view.failed(result);
    return { ...NOTHING, result };
  } finally {
    for (const end of cleanUp.reverse()) await end();
  }
}

endWith(await main());
