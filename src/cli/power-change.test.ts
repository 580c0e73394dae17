import { expect, test } from 'vitest';
import { given, NOW, time } from '../../test/builders/observed.ts';
import { annotations, gpuInstanceResource } from '../api/v1alpha1/names.ts';
import { starting } from './power-change.ts';

const IDLE = { after: '30m', action: 'Destroy' } as const;
const target = (situation: Parameters<typeof given>[0]) => ({
  ...{ resource: gpuInstanceResource, shown: 'gpui/job' },
  object: given(situation).object,
});
const extended = (seconds: number) => ({ annotations: { [annotations.idleExtendUntil]: time(seconds) } });

test('a start extends the idle time of a machine that ended for idleness, or is about to', () => {
  const ended = target({ spec: { idle: IDLE }, status: { idleEndedAt: time(-60) } });
  expect(starting(ended, NOW)).toEqual({
    patch: extended(1800),
    did: `powerState is Running; not ended for idleness before ${time(1800)}`,
  });
  const warned = target({
    spec: { idle: IDLE },
    status: { idle: { since: time(-1500), endsAt: time(300) } },
  });
  expect(starting(warned, NOW).patch).toEqual(extended(1800));
});

test('a start extends from the end on, if the clock of the operator is ahead', () => {
  const ended = target({ spec: { idle: IDLE }, status: { idleEndedAt: time(7200) } });
  expect(starting(ended, NOW).patch).toEqual(extended(9000));
});

test('a start sets powerState as well, if that is Stopped', () => {
  const stopped = target({
    spec: { idle: IDLE, powerState: 'Stopped' },
    status: { idleEndedAt: time(-60) },
  });
  expect(starting(stopped, NOW).patch).toEqual({ ...extended(1800), spec: { powerState: 'Running' } });
});

test('a start changes nothing of a machine that runs and is in use, or has no idle time', () => {
  expect(starting(target({ spec: { idle: IDLE } }), NOW).patch).toBeUndefined();
  expect(starting(target({ status: { idleEndedAt: time(-60) } }), NOW).patch).toBeUndefined();
});
