import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { type Playground, setPlayground } from '../../scripts/demo/playground-stage.ts';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { SSHD } from '../builders/ssh-machine.ts';
import { findFreePort } from '../cluster/free-port.ts';
import type {} from '../cluster/provided-context.ts';
import { blocksToRun, commandsOf } from './code-blocks.ts';
import { type Typist, typistOn } from './typist.ts';

/* How-to pages, typed block by block in a playground that has the objects of their examples. */

const TIMEOUT_MS = 240_000;
const MACHINE = `
apiVersion: gpurental.dev/v1alpha1
kind: GpuInstance
metadata: {name: trainer}
spec:
  ssh: true
  offers: [{gpuNames: [RTX 4090], minDirectPorts: 1, maxPricePerHour: "0.80"}]
  image: pytorch/pytorch:2.9.1-cuda12.9-cudnn9-runtime
  disk: 32G
`;
/** Replacements for examples that have another name in the test's cluster. */
type Stands = readonly (readonly [example: RegExp, actual: string | (() => Promise<string>)])[];

describe.skipIf(inject('cluster').source === 'existing-cluster' || SSHD === undefined)('how-to pages', () => {
  let playground: Playground;
  let folder = '';
  let type: Typist;

  beforeAll(async () => {
    playground = await setPlayground({ tell: () => {}, signal: new AbortController().signal });
    folder = mkdtempSync(join(tmpdir(), 'how-to-'));
    for (const name of ['deploy', 'crds', 'charts']) symlinkSync(join(REPOSITORY, name), join(folder, name));
    mkdirSync(join(folder, 'bin'));
    writeFileSync(join(folder, 'trainer.yaml'), MACHINE);
    writeFileSync(join(folder, 'kustomization.yaml'), 'resources: [trainer.yaml]\n');
    writeFileSync(join(folder, 'load.csv'), 'seconds,load\n0,0\n60,80\n600,5\n');
    const bin = join(dirname(playground.cluster.kubeconfigPath), 'bin');
    type = typistOn(playground.cluster, { folder, programs: [bin], variables: playground.variables });
    await type(
      'kubectl apply -f trainer.yaml && kubectl wait gpui/trainer --for=condition=Ready --timeout=2m',
    );
    await playground.gateway;
  }, TIMEOUT_MS);
  afterAll(async () => {
    rmSync(folder, { recursive: true, force: true });
    await playground?.dismantle();
  }, TIMEOUT_MS);

  async function inPlaceOf(commands: string, stands: Stands): Promise<string> {
    let result = commands;
    for (const [example, actual] of stands)
      if (example.test(result))
        result = result.replaceAll(
          new RegExp(example, 'g'),
          typeof actual === 'string' ? actual : await actual(),
        );
    return result;
  }

  /** Runs each block as a reader types it, with Ctrl-C for commands that do not end. Returns the output. */
  async function follow(page: string, stands: Stands = [], skip?: (commands: string) => boolean) {
    const printed: string[] = [];
    for (const block of blocksToRun(page)) {
      const commands = commandsOf(block);
      if (skip?.(commands)) continue;
      for (const line of commands.replaceAll(/\\\n\s*/g, '').split('\n')) {
        const actual = await inPlaceOf(line, stands);
        printed.push(await type(interrupted(actual), TIMEOUT_MS));
      }
    }
    expect(printed.length).toBeGreaterThan(0);
    return printed;
  }

  test.each([
    'gpu-instance-service.yaml',
    'gpu-instance-ssh.yaml',
    'endpoint-group-llm.yaml',
    'endpoint-group-gateway-tls.yaml',
  ])('B21: the machines of the sample %s become Ready by their readiness probe', async (sample) => {
    const text = await type(`cat deploy/samples/${sample}`);
    expect(text).toContain('readinessProbe');
    await type(`kubectl apply -f deploy/samples/${sample}`);
    await type(`kubectl wait -f deploy/samples/${sample} --for=condition=Ready --timeout=2m`);
    await type(`kubectl delete -f deploy/samples/${sample}`);
  });

  test(
    'the page of the command line',
    async () => {
      await type('kubectl create namespace docs');
      await type('kubectl get epg chat -o json | sed \'s/"name": "chat"/"name": "group"/\' > group.yaml');
      const offer = async (): Promise<string> =>
        (await type("gpu-rent search offers 'gpu_name=RTX_4090 num_gpus=1' --limit 1 -o json")).match(
          /"id": ?"?(\d+)/,
        )?.[1] ?? 'none';
      const bought = async (): Promise<string> => {
        const rows = JSON.parse(await type('gpu-rent list instances -o json')) as { readonly id: unknown }[];
        const ids = rows.map(({ id }) => Number(id));
        return String(Math.max(...ids));
      };
      const foreign = async (): Promise<string> => {
        await type(`gpu-rent create instance ${await offer()} --image busybox --disk 8`);
        return bought();
      };
      await follow('docs/how-to/cli.md', [
        [/\b8001519\b/, offer],
        [/\b20000001\b/, bought],
        [/\b4711\b/, foreign],
        [/--as=YOU/, '--as=admin'],
        [/kubectl create secret/, 'kubectl -n docs create secret'],
        [/^(gpu-rent destroy instance \d+)/, '$1 --yes'],
      ]);
    },
    TIMEOUT_MS,
  );

  test(
    'the page that leads from symptom to cause',
    async () => {
      const printed = await follow('docs/how-to/troubleshooting.md', [
        [/\b(gpui|NAME-connection|gpui\/)( |)NAME\b/, '$1$2trainer'],
        [/\bsecret NAME-/, 'secret trainer-'],
        [/\b(epg[ /])NAME\b/, '$1chat'],
      ]);
      expect(printed.join('\n')).toContain('trainer');
    },
    TIMEOUT_MS,
  );

  test('the page of costs per team', async () => {
    const printed = await follow('docs/how-to/cost-per-team.md', [[/-n team-a/, '-n default']]);
    const [byNamespace = '', , , , csv = ''] = printed;
    expect(byNamespace).toMatch(/^NAMESPACE +COST +OPEN[\s\S]*\ndefault +\$/);
    expect(csv).toMatch(/^account,namespace,[\s\S]*,default,trainer,/);
    const focus = await type('head -1 november.csv');
    expect(focus).toContain('BilledCost');
  });

  test('the page of the gateway', async () => {
    await follow(
      'docs/how-to/gateway.md',
      [[/"\$KEY"/, 'a-key-of-alice']],
      // test/gateway/tls-recipes.integration.test.ts runs these in the place of a container.
      (commands) => commands.includes('$tls/'),
    );
    const stored = await type("kubectl get secret llm-callers -o jsonpath='{.data.alice}' | base64 -d");
    expect(stored).toMatch(/^[0-9a-f]{64}$/);
  });

  test('the page of GitOps', async () => {
    await type('kubectl create namespace argocd && kubectl create configmap argocd-cm -n argocd');
    await follow('docs/how-to/gitops.md');
    expect(await type('kubectl get configmap argocd-cm -n argocd -o yaml')).toContain(
      'gpurental.dev_GpuInstance',
    );
  });

  test('the page of workers that report', async () => {
    await follow(
      'docs/how-to/worker-reports.md',
      [[/epg\/images/, 'epg/chat']],
      // test/docs/worker-reports.integration.test.ts runs it beside a server that takes reports.
      (commands) => commands.startsWith('curl '),
    );
    expect(await type("kubectl get epg chat -o jsonpath='{.metadata.annotations}'")).toContain('wake-at');
  });

  test('the page of the simulator, with the line that it prints', async () => {
    const port = await findFreePort();
    const [first = ''] = await follow('docs/how-to/simulator.md', [[/--port 8088/, `--port ${port}`]]);
    expect(Object.keys(JSON.parse(first.split('\n')[0] ?? '{}'))).toEqual(['url', 'apiKey', 'control']);
  });

  test(
    'the page on how to stop spending, last',
    async () => {
      const printed = await follow('docs/how-to/stop-spending.md', [[/stop --all$/, 'stop --all --yes']]);
      expect(printed.join('\n')).toContain('trainer');
    },
    TIMEOUT_MS,
  );
});

/** Interrupts commands that would run until Ctrl-C after some seconds. */
function interrupted(line: string): string {
  const goesOn = /^gpu-rent (simulator |top (?!.*--once))/.test(line);
  return goesOn ? `timeout --preserve-status -s INT 5 ${line} || test $? -eq 130` : line;
}
