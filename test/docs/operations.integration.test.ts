import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunningProcess } from '../../scripts/demo/processes.ts';
import { readLedger } from '../../scripts/demo/simulator-control.ts';
import { DEMO_DURATIONS } from '../../scripts/demo/stage.ts';
import { until } from '../builders/until.ts';
import { goTool, HELM } from '../tools/go-tool.ts';
import { codeBlocks, commandsOf } from './code-blocks.ts';
import { openReader, type Reader } from './reader.ts';

/** The pages that administrators follow, in the order of the tests below. */
const PAGES = ['docs/how-to/install.md', 'docs/how-to/access.md', 'docs/how-to/recovery.md'];
const blocks = PAGES.flatMap(codeBlocks).filter(({ language }) => language === 'sh');
/** Returns the commands of a section, block by block. */
const under = (heading: string): readonly string[] =>
  blocks.filter((block) => block.heading === heading).map(commandsOf);

let reader: Reader;
let market: Readonly<Record<'url' | 'apiKey' | 'control', string>>;
let operator: RunningProcess;
let started = 0;

const type = (commands: string | undefined) => reader.type(commands ?? 'false');
const machine = () => type('kubectl get gpui trainer -o jsonpath={.status.machine.id}');
const becomesReady = () => type('kubectl wait gpui/trainer --for=condition=Ready --timeout=60s');

/** Starts an operator as a new Pod of the Deployment, which only knows the cluster. */
async function startOperator(): Promise<void> {
  started += 1;
  operator = reader.run(`operator-${started}`, [
    ...['operator', ...(await reader.operatorAccess())],
    ...[`--marketplace-url=${market.url}`, '--address-map=203.0.113.0/24=127.0.0.1'],
    ...['--metrics-bind-address=127.0.0.1:0', '--health-probe-bind-address=0'],
    ...Object.entries(DEMO_DURATIONS).flat(),
  ]);
}

async function restartOperator(): Promise<void> {
  await operator.stop();
  await startOperator();
}

beforeAll(async () => {
  await goTool(HELM);
  reader = await openReader();
  const args = ['simulator', '--port=0', '--control', '--boot-scale=0.02', '--serve-machines'];
  market = (await reader.run('simulator', args).ready) as typeof market;
  writeFileSync(join(reader.folder, 'my-key.txt'), `${market.apiKey}\n`);
}, 15 * 60_000);
afterAll(() => reader?.close());

describe('the pages for administrators, typed as they are written', () => {
  test('install, and what Helm says to paste next', async () => {
    const notes = await type(under('Install')[0]);
    await startOperator();
    const [, paste = 'false', watch = 'false'] =
      /^(kubectl create secret [\s\S]*)^(kubectl get .* -w)$/m.exec(notes) ?? [];
    await type(paste);
    // It goes on until it is told to end, which is 124.
    expect(await type(`timeout 2 ${watch} || echo "ended with $?"`)).toContain('ended with 124');
    await type('kubectl delete gpui first');
    await type('kubectl apply -f deploy/samples/account.yaml -f deploy/samples/gpu-instance-trainer.yaml');
    await becomesReady();
  });

  test('upgrade: the machine runs on', async () => {
    const before = await machine();
    const [upgrade, look] = under('Upgrade');
    await type(upgrade);
    await restartOperator();
    expect(await type(look)).toContain('gpu-rental-operator');
    await becomesReady();
    expect(await machine()).toBe(before);
  });

  test('upgrade: definitions go to the chart of their own, and the machine runs on', async () => {
    const before = await machine();
    await type(under('Upgrade')[2]);
    await becomesReady();
    expect(await machine()).toBe(before);
  });

  test('access to the metrics: Prometheus gets the right to read them', async () => {
    await type(under('Who reads the metrics')[0]);
    expect(await type('kubectl get clusterrolebinding gpu-rental-metrics -o yaml')).toContain(
      'prometheus-k8s',
    );
  });

  test('disaster recovery: a lost identity comes back from the backup, and machines are known again', async () => {
    const before = await machine();
    await type(under('Disaster recovery')[0]);
    await operator.stop();
    const glass = `kubectl --as=reader --as-group=system:masters --as-group=gpurental.dev:break-glass`;
    await type(`${glass} delete secret gpu-rental-operator-identity -n gpu-rental-system`);
    await startOperator();
    await until('the loss is seen', async () =>
      (await type('kubectl get gpuacct default -o yaml')).includes('reason: IdentityInvalid'),
    );
    await type(under('Identity loss')[0]);
    await restartOperator();
    await type('kubectl wait gpuacct/default --for=condition=Ready --timeout=60s');
    await becomesReady();
    expect(await machine()).toBe(before);
    expect(await readLedger(market.control)).toMatchObject({ billing: 1 });
  }, 200_000);

  test('key rotation: the marketplace is asked with the new key, which proves the same login', async () => {
    const [makeKey] = under('Key rotation');
    await type(`export GPU_RENT_URL='${market.url}' GPU_RENT_API_KEY='${market.apiKey}'\n${makeKey}`);
    await restartOperator();
    const kept = `kubectl get secret -n gpu-rental-system gpuacct-$(kubectl get gpuacct default -o jsonpath={.metadata.uid}) -o json`;
    await until('the new key is proved and kept', async () =>
      (await type(kept)).includes((await type('base64 < new-key.txt | tr -d "\\n"')).slice(0, 20)),
    );
  });

  test('key rotation: the identity signs with a new key and still knows the machine', async () => {
    const before = await machine();
    await type(under('Key rotation')[1]);
    await restartOperator();
    await becomesReady();
    expect(await machine()).toBe(before);
    const ring = await type(
      "kubectl get secret gpu-rental-operator-identity -n gpu-rental-system -o jsonpath='{.data.keys}' | base64 -d",
    );
    expect(ring.trim().split('\n')).toHaveLength(2);
  });

  test('break glass: an object is let go that people may not let go', async () => {
    // Shells of containers often have no USER.
    const letGo = `unset USER\n${under('Break glass')[0]?.replaceAll('NAME', 'stuck') ?? 'false'}`;
    await operator.stop();
    await type(
      "sed 's/name: trainer/name: stuck/' deploy/samples/gpu-instance-trainer.yaml | kubectl apply -f -",
    );
    await type(letGo.replace('null', '["gpurental.dev/machine"]'));
    await type('kubectl delete gpui stuck --wait=false');
    const asAnyone = `kubectl patch gpui stuck --type=merge -p '{"metadata":{"finalizers":null}}'`;
    await expect(type(asAnyone)).rejects.toThrow(/Only the operator changes its finalizers/);
    await type(letGo);
    expect(await type('kubectl get gpui -o name')).not.toContain('stuck');
    await startOperator();
  });

  test('uninstall: every machine is gone before the operator is', async () => {
    const [commands = ''] = under('Uninstall');
    for (const line of commands.split('\n')) {
      const act = () =>
        type(line).then(
          () => true,
          () => false,
        );
      // The guard lets go a moment after the last machine has.
      await until(line, act, 90_000);
      if (line.startsWith('kubectl delete epg,gpui'))
        expect(await readLedger(market.control)).toMatchObject({ billing: 0 });
    }
    expect(await type('kubectl get crd -o name')).toBe('');
  }, 200_000);
});
