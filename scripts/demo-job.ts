/**
 * `make demo-job`: six Jobs whose programs run on rented machines. The Job controller of Kubernetes, the operator, the
 * simulated marketplace, its machines and the programs of the Pods are processes of this computer.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { endWith, interruption, reasonOf } from './demo/ending.ts';
import { type CleanUp, openJobStage } from './demo/job-stage.ts';
import { bidManifest, type JobOutcome, JobStory, PLANS } from './demo/job-story.ts';
import { plainView } from './demo/live-view.ts';

const MAX_SECONDS_TO_DESTROY = 30;

const view = plainView({ write: (text) => process.stdout.write(text) });
const signal = interruption(view.heading);

interface Outcome extends JobOutcome {
  /** Absent after a success. */
  readonly result?: string;
}

const NOTHING: JobOutcome = {
  ...{ jobs: PLANS.length, asExpected: 0, machinesRented: 0, machinesBilling: 0, logLinesLost: 0 },
  ...{ dollarsEqualLedger: false, secondsFromExitToDestroyedP95: null },
};

async function play(cleanUp: CleanUp): Promise<JobOutcome> {
  const { stage, pods, folder } = await openJobStage({ tell: view.say, signal, cleanUp });
  const bidFile = join(folder, 'bid.yaml');
  writeFileSync(bidFile, bidManifest());
  view.say(`Logs: ${stage.logFolder}`);
  view.heading(
    'Six Jobs are applied; then one is outbid, one evicted, one deleted, and the operator is killed',
  );
  return new JobStory({ stage, pods, say: view.say, signal, bidFile }).play();
}

/** Returns why the outcome is no success; undefined for a success. */
function problemOf(outcome: JobOutcome): string | undefined {
  const { jobs, asExpected, machinesBilling, logLinesLost, secondsFromExitToDestroyedP95: late } = outcome;
  if (asExpected < jobs) return `${jobs - asExpected} Jobs ended otherwise than expected`;
  if (machinesBilling > 0) return `${machinesBilling} machines still bill`;
  if (logLinesLost > 0) return `${logLinesLost} lines of logs are lost or doubled`;
  if (!outcome.dollarsEqualLedger) return 'the dollars of the operator differ from those of the marketplace';
  return late === null || late > MAX_SECONDS_TO_DESTROY ? 'machines were destroyed late' : undefined;
}

async function main(): Promise<Outcome> {
  view.heading('Setting up: Kubernetes API with the Job controller, simulated marketplace, operator');
  const cleanUp: CleanUp = [];
  try {
    const outcome = await play(cleanUp);
    const result = problemOf(outcome);
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
