import { describe, expect, test } from 'vitest';
import { spec } from '../../test/builders/observed.ts';
import type { GpuInstance, GpuInstanceManifestSpec } from '../api/v1alpha1/gpu-instance.ts';
import { ReachError } from './reach-error.ts';
import { changeOfTarget, safeTarget, targetOfMachine, targetOfObject } from './ssh-target.ts';

const ssh = { host: '203.0.113.7', port: 40_022 };
const running = { phase: 'Running', instanceId: '7', ssh };

function trainer(status: object, manifest: GpuInstanceManifestSpec = {}): GpuInstance {
  const metadata = { name: 'trainer', namespace: 'team' };
  return { metadata, spec: spec(manifest), status } as unknown as GpuInstance;
}

const failureOf = (run: () => unknown): { readonly message: string; readonly remedy: string | undefined } => {
  try {
    run();
  } catch (error) {
    if (error instanceof ReachError) return { message: error.message, remedy: error.remedy };
    throw error;
  }
  throw new Error('it did not fail');
};

const WAIT = 'gpu-rent wait gpui/trainer -n team';

describe('SSH target of an object', () => {
  test('is the address in its status, with a host key per machine', () => {
    expect(targetOfObject(trainer(running))).toEqual({
      ...ssh,
      shown: 'gpui/trainer',
      keyName: 'team-trainer-7',
      instanceId: '7',
    });
  });

  test.each([
    [
      'has no machine',
      { phase: 'Pending' },
      { ssh: true },
      'has no machine (Pending).',
      `Wait for it: ${WAIT}`,
    ],
    [
      'is stopped',
      { ...running, phase: 'Stopped' },
      { powerState: 'Stopped' },
      'is stopped, and nothing answers there (Stopped).',
      `Start it: gpu-rent start gpui/trainer -n team; then ${WAIT}`,
    ],
    [
      'is paused before its first machine',
      { phase: 'Pending' },
      { paused: true },
      'has no machine (Pending).',
      `Paused: gpu-rent resume gpui/trainer -n team; then ${WAIT}`,
    ],
    [
      'runs without SSH',
      { phase: 'Running', instanceId: '7' },
      { ssh: false },
      'has no SSH address yet (Running).',
      `Set spec.ssh: true; then wait for it: ${WAIT}`,
    ],
  ])('fails with a command if the object %s', (_what, status, manifest, message, remedy) => {
    expect(failureOf(() => targetOfObject(trainer(status, manifest as GpuInstanceManifestSpec)))).toEqual({
      message: `gpui/trainer ${message}`,
      remedy,
    });
  });

  test('is no other machine than the one that the connection began with', () => {
    const target = targetOfObject(trainer(running));
    expect(changeOfTarget(target, trainer(running))).toBeUndefined();
    expect(changeOfTarget(target, trainer({ ...running, instanceId: '8' }))?.message).toBe(
      'gpui/trainer runs on machine 8 now; machine 7 was replaced.',
    );
    expect(changeOfTarget(target, trainer({ ...running, phase: 'Stopped' }))?.message).toContain(
      'is stopped',
    );
  });

  test.each(['-oProxyCommand=x', '203.0.113.7 x', 'a\nb', ''])('refuses %j as a host', (host) => {
    const target = { ...targetOfObject(trainer(running)), host };
    expect(failureOf(() => safeTarget(target)).message).toContain('is not a host that ssh may be given');
  });
});

describe('SSH target of a listed machine', () => {
  const machine = { id: '4711', sshHost: ssh.host, sshPort: ssh.port, stateText: 'running', isAtRest: false };

  test('is its address, or a failure with the next command', () => {
    expect(targetOfMachine(machine)).toMatchObject({ ...ssh, shown: '4711', keyName: 'instance-4711' });
    expect(failureOf(() => targetOfMachine({ ...machine, stateText: 'exited', isAtRest: true }))).toEqual({
      message: 'Instance 4711 is exited, and nothing answers there.',
      remedy: 'Start it: gpu-rent start instance 4711',
    });
    expect(failureOf(() => targetOfMachine({ id: '4711', isAtRest: false })).message).toBe(
      'Instance 4711 has no SSH address yet (provisioning).',
    );
  });
});
