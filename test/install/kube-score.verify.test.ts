import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { goTool, KUBE_SCORE } from '../tools/go-tool.ts';
import { CHART, type Helm, openHelm } from './helm.ts';
import { kustomize } from './kustomize.ts';
import { valueSets } from './value-sets.ts';

/**
 * Accepted findings of kube-score. A throttled operator would lose its lease; a CPU request is enough to share a
 * node.
 */
const NO_CPU_LIMIT = 'CPU limit is not set';
/** Releases name the image by digest; with Always a registry that is down would keep the operator down. */
const PULLED_ONCE = 'ImagePullPolicy is not set to Always';
/** Off unless asked for: which ports lead to the API server differs from cluster to cluster. */
const NO_NETWORK_POLICY = 'The pod does not have a matching NetworkPolicy';
/** A second replica only shortens the pause after the death of a node. */
const ONE_REPLICA = 'Deployment few replicas';
/** Two Pods of the simulator at a time would be two marketplaces, so it is recreated. */
const ONE_MARKET = 'Deployment update strategy';

const scored = z.array(
  z.object({
    object_name: z.string(),
    checks: z.array(
      z.object({
        grade: z.number(),
        skipped: z.boolean(),
        check: z.object({ name: z.string() }),
        comments: z.array(z.object({ summary: z.string() })).nullable(),
      }),
    ),
  }),
);
const ALL_OK = 10;

let program = '';
let helm: Helm;
let home = '';

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'score-'));
  program = await goTool(KUBE_SCORE);
  helm = await openHelm(home);
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

/** Returns kube-score's findings without duplicates. */
async function findings(manifests: string): Promise<readonly string[]> {
  const args = ['score', '-', '--kubernetes-version', 'v1.30', '--output-format', 'json'];
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(manifests);
  const objects = scored.parse(JSON.parse(await text(child.stdout)));
  expect(objects.length).toBeGreaterThan(1);
  const wrong = objects.flatMap(({ checks }) =>
    checks.filter(({ grade, skipped }) => !skipped && grade < ALL_OK),
  );
  const said = wrong.flatMap(({ check, comments }) => {
    const words = (comments ?? []).map(({ summary }) => summary).filter(Boolean);
    return words.length > 0 ? words : [check.name];
  });
  return [...new Set(said)].toSorted();
}

describe('kube-score', () => {
  test.each([
    ['default', [NO_CPU_LIMIT, PULLED_ONCE, NO_NETWORK_POLICY, ONE_REPLICA]],
    ['everything', [NO_CPU_LIMIT, PULLED_ONCE, NO_NETWORK_POLICY]],
    ['high-availability', [NO_CPU_LIMIT, PULLED_ONCE]],
    ['namespaced', [NO_CPU_LIMIT, PULLED_ONCE, ONE_REPLICA]],
    ['simulator', [NO_CPU_LIMIT, PULLED_ONCE, ONE_REPLICA, ONE_MARKET]],
  ])('finds only what is left on purpose with the values "%s"', async (name, left) => {
    const set = valueSets.find((one) => one.name === name);
    const values = ['--values', set?.valuesPath ?? `no value set ${name}`];
    const manifests = await helm.run(['template', 'release', CHART, '--namespace', 'operators', ...values]);
    expect(await findings(manifests)).toEqual(left.toSorted());
  });

  test.each([
    ['cluster-wide', [NO_CPU_LIMIT, PULLED_ONCE, NO_NETWORK_POLICY, ONE_REPLICA]],
    ['one-namespace', [NO_CPU_LIMIT, PULLED_ONCE, NO_NETWORK_POLICY, ONE_REPLICA]],
    ['high-availability', [NO_CPU_LIMIT, PULLED_ONCE, NO_NETWORK_POLICY]],
  ])('finds only what is left on purpose in the overlay "%s"', async (overlay, left) => {
    const manifests = await kustomize(join(REPOSITORY, 'deploy/overlays', overlay));
    expect(await findings(manifests)).toEqual(left.toSorted());
  });
});
