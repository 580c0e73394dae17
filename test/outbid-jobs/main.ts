/**
 * `node test/outbid-jobs/main.ts`: Jobs on bid machines, each outbid once in the middle of its work (JOBS=100, ACTIVE=25
 * at a time). Its programs are real processes that store a checkpoint after every third step.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { endWith, interruption, reasonOf } from '../../scripts/demo/ending.ts';
import { type CleanUp, openJobStage } from '../../scripts/demo/job-stage.ts';
import { plainView } from '../../scripts/demo/live-view.ts';
import { CHECKPOINT_STEPS, type OutbidOutcome, OutbidStory } from './story.ts';

const JOBS = Number(process.env['JOBS'] ?? 100);
const MAX_ACTIVE = Number(process.env['ACTIVE'] ?? 25);

const view = plainView({ write: (line) => process.stdout.write(line) });
const signal = interruption(view.heading);

interface Outcome extends OutbidOutcome {
  /** Absent after a success. */
  readonly result?: string;
}

const NOTHING: OutbidOutcome = {
  ...{ jobs: JOBS, complete: 0, outbid: 0, maxRepeatedSteps: 0, checkpointSteps: CHECKPOINT_STEPS },
  ...{ doubleRentals: 0, machinesRented: 0, machinesLeft: 0, logLinesLost: 0 },
};

/** Starts a store of checkpoints, as a bucket is one: PUT stores a text by path, GET returns it. */
async function openStore(cleanUp: CleanUp): Promise<string> {
  const kept = new Map<string, string>();
  const answer = async ({ method, url = '' }: IncomingMessage, body: string): Promise<[number, string]> => {
    const found = kept.get(url);
    if (method !== 'PUT') return found === undefined ? [404, ''] : [200, found];
    kept.set(url, body);
    return [204, ''];
  };
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    void text(request)
      .then((body) => answer(request, body))
      .then(([status, found]) => response.writeHead(status).end(found));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanUp.push(async () => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function play(cleanUp: CleanUp): Promise<OutbidOutcome> {
  const store = await openStore(cleanUp);
  // An outbid machine counts until its disk is destroyed.
  const stage = await openJobStage({ tell: view.say, signal, cleanUp, maxMachines: 2 * MAX_ACTIVE });
  view.say(`Logs: ${stage.stage.logFolder}`);
  view.heading(`${JOBS} Jobs run on bid machines, and each is outbid once`);
  const options = { ...stage, jobs: JOBS, maxActive: MAX_ACTIVE, store, report: view.say, signal };
  return new OutbidStory(options).play();
}

/** Returns why the outcome is no success; undefined for a success. */
function problemOf(outcome: OutbidOutcome): string | undefined {
  const { jobs, complete, outbid, maxRepeatedSteps, doubleRentals, machinesLeft, logLinesLost } = outcome;
  if (complete < jobs) return `${jobs - complete} Jobs did not succeed`;
  if (outbid < jobs) return `${jobs - outbid} Jobs were not outbid`;
  if (maxRepeatedSteps > CHECKPOINT_STEPS) return `a run repeated ${maxRepeatedSteps} steps`;
  if (doubleRentals > 0) return `${doubleRentals} runs had two machines at a time`;
  if (machinesLeft > 0) return `${machinesLeft} machines still bill`;
  return logLinesLost > 0 ? `${logLinesLost} lines of logs are lost` : undefined;
}

async function main(): Promise<Outcome> {
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
