import { describe } from 'vitest';
import { decisionTables } from '../../../../test/builders/decision-table.ts';
import { destroys } from '../../../../test/builders/ending-machine.ts';
import { at, type Given, intent, time, withMachine } from '../../../../test/builders/observed.ts';

const { table, close } = decisionTables('booting');

const booting = (word: 'loading' | 'created' | null, seconds: number, situation: Given = {}): Given =>
  withMachine(
    { state: word === 'loading' ? 'loading' : 'pending', marketStatus: word },
    {
      ...situation,
      status: {
        runningAt: undefined,
        actualStatus: word ?? 'provisioning',
        actualStatusSince: time(seconds),
        ...situation.status,
      },
    },
  );
const stopped = { powerState: 'Stopped' } as const;

describe('a booting machine', () => {
  table([
    [
      'that is created is still being provisioned',
      booting('created', -60, { memory: { rentedSince: at(-60) } }),
      { rule: 'boot', phase: 'Provisioning', says: 'Provisioning', afterMs: 240000 },
    ],
    [
      'that is created is not given up by a list of long before its time was over',
      booting('created', -300, { memory: { rentedSince: at(-300) }, list: { begunSteady: at(-31) } }),
      { rule: 'boot', phase: 'Provisioning', says: 'Provisioning', onList: true },
    ],
    [
      'that loads looks again at its limit while it waits for a list of that time',
      booting('loading', -1200, { spec: { maxLifetime: '330s' }, list: { begunSteady: at(-31) } }),
      { rule: 'boot', phase: 'Loading', says: 'Loading', afterMs: 30_000, onList: true },
    ],
    [
      'that loads is given up by a list that was begun after its time was over, however long that took to read',
      booting('loading', -1300, { list: { begunSteady: at(-100) } }),
      destroys('boot-timed-out', 'LoadingTimedOut'),
    ],
    [
      'is stopped where it is not wanted to run',
      booting('loading', -60, { spec: stopped }),
      {
        rule: 'stop-while-booting',
        record: 'status',
        actions: ['stop 1'],
        phase: 'Stopping',
        says: 'Stopping',
        afterMs: 30000,
      },
    ],
    [
      'is not asked to stop again at once',
      booting('loading', -60, { spec: stopped, memory: { stopAskedAt: at(-29) } }),
      { rule: 'stop-while-booting', record: 'status', phase: 'Stopping', says: 'Stopping', afterMs: 1000 },
    ],
    [
      'is asked to stop again after half a minute',
      booting('loading', -60, { spec: stopped, memory: { stopAskedAt: at(-30) } }),
      {
        rule: 'stop-while-booting',
        record: 'status',
        actions: ['stop 1'],
        phase: 'Stopping',
        says: 'Stopping',
        afterMs: 30000,
      },
    ],
    [
      'writes progress down when a quarter of its patience has passed',
      booting('loading', -600, { memory: { progress: { text: 'x', at: at(-10) } } }),
      { rule: 'boot', phase: 'Loading', says: 'Loading', afterMs: 1190000 },
    ],
    [
      'does not write progress down at each sight of it',
      booting('loading', -600, {
        status: { progressAt: time(-310) },
        memory: { progress: { text: 'x', at: at(-10) } },
      }),
      { rule: 'boot', phase: 'Loading', says: 'Loading', afterMs: 1190000 },
    ],
    [
      'that shows none writes nothing',
      booting('loading', -600),
      { rule: 'boot', phase: 'Loading', says: 'Loading', afterMs: 600000 },
    ],
    [
      'is patient from the progress on record, after a restart',
      booting('loading', -1300, {
        status: { progressAt: time(-100) },
        memory: { progressOnRecord: at(-100) },
      }),
      { rule: 'boot', phase: 'Loading', says: 'Loading', afterMs: 1100000 },
    ],
    [
      'that ran and is created again has all its time from then on',
      booting('created', -86_400, {
        status: { runningAt: time(-86_000), actualStatus: 'running' },
        memory: {
          rentedSince: at(-86_400),
          seenStatus: { state: 'pending', marketStatus: 'created', since: at(-60) },
        },
      }),
      { rule: 'boot', phase: 'Provisioning', says: 'Provisioning', afterMs: 240000 },
    ],
    [
      'that ran and of which no word is said any more is shown and not judged',
      booting(null, -86_400, {
        status: { runningAt: time(-86_000), actualStatus: 'running' },
        memory: { rentedSince: at(-86_400), watchedSince: at(-86_400) },
      }),
      { rule: 'show-word', phase: 'Loading', says: 'NotRunning' },
    ],
    [
      'that was loading and is created again has what is left of the time to load',
      booting('created', -600, {
        status: { actualStatus: 'loading' },
        memory: { rentedSince: at(-86_400), watchedSince: at(-86_400) },
      }),
      { rule: 'boot', phase: 'Provisioning', says: 'Provisioning', afterMs: 600000 },
    ],
    [
      'of an adopted object is its own rental after the first',
      booting('loading', -60, {
        spec: { adopt: { instanceId: '9' } },
        intent: intent({ attempt: 2 }),
        status: { attempt: 2 },
      }),
      { rule: 'boot', phase: 'Loading', says: 'Loading', afterMs: 1140000 },
    ],
    [
      'that was taken over is called so',
      booting('loading', -60, { spec: { adopt: { instanceId: '1' } } }),
      { rule: 'boot', phase: 'Loading', says: 'Loading', afterMs: 1140000 },
    ],
  ]);
});

close();
