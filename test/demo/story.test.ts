import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import type { View } from '../../scripts/demo/live-view.ts';
import type { Stage } from '../../scripts/demo/stage.ts';
import { type Outcome, Story } from '../../scripts/demo/story.ts';
import type { KubeClient } from '../../src/runtime/kube/kube-client.ts';
import type { Cluster } from '../cluster/cluster.ts';

let server: Server | undefined;
afterEach(() => server?.close());

/** Serves a simulator's ledger in which people rented after the demo had ended. */
async function serveLedger(): Promise<string> {
  const contract = { id: 1, label: null, start: 0, dollars: 0.01 };
  const contracts = [...[1, 2, 3].map(() => ({ ...contract, end: 9 })), { ...contract, end: null }];
  const ledger = { now: 10, dollars: 0.04, billing: 1, contracts };
  server = createServer((_request, response) => void response.end(JSON.stringify(ledger)));
  const listening = server;
  await new Promise<void>((resolve) => void listening.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(listening.address() as AddressInfo).port}`;
}

const account = { metadata: { name: 'default' }, status: { deletedObjects: { spent: '0.03' } } };
const rented = {
  metadata: { name: 'mine' },
  status: { cost: { accrued: '0.01', pricePerHour: '0.00', since: '2026-11-22T10:00:00Z' } },
};

/** Plays the demo on a recorded stage; Ctrl-C arrives with the third read of events. */
function play(operatorEnd: () => string | undefined, controlUrl = '') {
  const interrupted = new AbortController();
  let looks = 0;
  const list = async ({ plural }: { readonly plural: string }) => {
    if (plural === 'events' && ++looks === 3) interrupted.abort();
    return {
      items: plural === 'marketplaceaccounts' ? [account] : plural === 'gpuinstances' ? [rented] : [],
    };
  };
  const client = { list, delete: async () => {} } as unknown as KubeClient;
  const failures: string[] = [];
  const nothing = () => {};
  const failed = (why: string) => void failures.push(why);
  const view: View = { heading: nothing, say: nothing, command: nothing, show: nothing, failed };
  const marketplace = { url: '', apiKey: '' };
  const rest = { logFolder: 'logs', controlUrl, marketplace, dismantle: async () => {} };
  const operator = { operatorEnd, killOperator: async () => {}, startOperator: async () => {} };
  const stage: Stage = { ...rest, ...operator, cluster: {} as Cluster, client };
  return { story: new Story(stage, view, interrupted.signal), failures };
}

const SETTLED: Outcome = {
  ...{ result: 'ok', rented: 3, replaced: 1, destroyed: 3, billing: 0 },
  ...{ operatorDollars: '0.03', ledgerDollars: '0.03', secondsToFirstRunning: 2 },
};

test('a demo that stayed up ends with the books as they are then', async () => {
  const { story } = play(() => undefined, await serveLedger());
  expect(await story.settleAgain(SETTLED)).toMatchObject({
    ...{ result: 'ok', rented: 4, destroyed: 3, billing: 1 },
    ...{ operatorDollars: '0.04', ledgerDollars: '0.04' },
  });
});

test('an operator that ends while the demo stays up is reported once, and is the result', async () => {
  const end = 'operator ended (exit code 1); see logs/operator.log';
  const { story, failures } = play(() => end, await serveLedger());
  await story.stayUp();
  expect(failures).toEqual([`${end}\nNothing acts on the objects any more. Ctrl-C ends everything.`]);
  expect((await story.settleAgain(SETTLED)).result).toBe(end);
});

test('an operator that ends before the demo is done ends it at once', async () => {
  const { story } = play(() => 'operator ended (SIGKILL); see logs/operator.log');
  await expect(story.tearDown()).rejects.toThrow('operator ended (SIGKILL); see logs/operator.log');
});
