import { formatTime } from '../../../src/lib/time.ts';
import type { JsonObject } from '../memory-kube/json.ts';
import { answered, type Stage } from './stage.ts';
import type { Story } from './story.ts';

const MINUTE = 60;
/** The machine has run for longer than its warm-up. */
const WARM = 20 * MINUTE;
const DESTROY = { idle: { after: '15m', warning: '5m', action: 'Destroy' } };
const STOP = { idle: { after: '15m', warning: '5m', action: 'Stop' } };
/** Second at which a machine that is idle since {@link WARM} is warned of, and the one at which it is due. */
const WARNED = WARM + 10 * MINUTE;
const DUE = WARM + 15 * MINUTE;
/** Second by which it has ended, with time for a check, a list, a read and the proof. */
const OVER = DUE + 5 * MINUTE;

interface IdleOptions {
  readonly policy?: JsonObject;
  readonly seconds?: number;
  readonly fleet?: number;
  /** True if all machines are used all the time. */
  readonly works?: boolean;
}

const names = (fleet: number): readonly string[] =>
  Array.from({ length: fleet }, (_, index) => (index === 0 ? 'a' : `m-${index + 1}`));

/** Returns a story of objects with an idle time, whose first machine is no longer used from {@link WARM} on. */
function idle(name: string, options: IdleOptions, then: (stage: Stage) => void = () => undefined): Story {
  const { policy = DESTROY, seconds = OVER, fleet = 1, works = false } = options;
  return {
    ...{ name, seconds, fleet },
    plot: (stage) => {
      for (const each of names(fleet)) stage.users.setPolicies(each, policy);
      if (!works) stage.at(WARM, () => stopUse(stage, 'a'));
      then(stage);
    },
  };
}

/** Ends the use of an object's machine, for so many seconds or for good. */
function stopUse(stage: Stage, name: string, seconds?: number): void {
  const instance = stage.machineOf(name);
  stage.cause({ name: 'idle', instance, ...(seconds !== undefined && { seconds }) });
}

/** Makes a figure wrong in all replies of a kind to come, for so many seconds. */
function wrongFigure(stage: Stage, endpoint: 'list' | 'get' | undefined, wrong: JsonObject): void {
  stage.cause({ name: 'wrong-field', field: 'gpu_util', ...(endpoint && { endpoint }), ...wrong });
}

const later = (stage: Stage, minutes: number): string =>
  formatTime(stage.world.now + minutes * MINUTE * 1000);

const LISTS_FAIL = { refusal: { status: 502, body: 'Bad Gateway' } };
const NOT_CARRIED_OUT = answered({ success: true });

/** A machine ends for idleness only if it was idle for the whole time, by every figure, and after a warning. */
export const IDLE_STORIES: readonly Story[] = [
  idle('an idle machine is destroyed after its warning, and no other is rented', {}),
  idle('an idle machine is stopped after its warning, and stays so', { policy: STOP }),
  idle('a machine is idle from its first second on', { seconds: 40 * MINUTE }, (stage) =>
    stage.at(2 * MINUTE, () => stopUse(stage, 'a')),
  ),
  idle('an idle machine is used again during its warning', { seconds: DUE + 15 * MINUTE }, (stage) => {
    stage.at(WARNED + 2 * MINUTE, () => stopUse(stage, 'a', 30));
    stage.at(WARNED + 5 * MINUTE, () => stopUse(stage, 'a'));
  }),
  idle('an idle machine is used for half a minute, a second before its end', { seconds: OVER }, (stage) => {
    stage.at(DUE - 15, () => stopUse(stage, 'a', 14));
    stage.at(DUE + 30, () => stopUse(stage, 'a'));
  }),
  idle('lists have no figure of an idle machine for a minute of its idle time', {}, (stage) =>
    stage.at(WARM + 5 * MINUTE, () =>
      wrongFigure(stage, 'list', { change: 'set', value: null, seconds: MINUTE }),
    ),
  ),
  idle('no list has a figure of a machine, idle or not', { seconds: OVER }, (stage) =>
    stage.at(MINUTE, () => wrongFigure(stage, 'list', { change: 'remove', seconds: 7200 })),
  ),
  idle('lists show no use of a machine that works, and reads do', { works: true, fleet: 2 }, (stage) =>
    stage.at(MINUTE, () => wrongFigure(stage, 'list', { change: 'set', value: 0, seconds: 7200 })),
  ),
  idle(
    'lists show the figure of a machine as it was before it was used',
    { seconds: OVER + 5 * MINUTE },
    (stage) => {
      stage.at(WARM + 2 * MINUTE, () => wrongFigure(stage, 'list', { change: 'stale', seconds: 7200 }));
      stage.at(WARM + 5 * MINUTE, () => stopUse(stage, 'a', 1));
    },
  ),
  idle('lists show no use for a while in the middle of the use of a machine', { fleet: 2 }, (stage) => {
    for (let second = WARM; second < DUE; second += 4 * MINUTE)
      stage.at(second, () => wrongFigure(stage, 'list', { change: 'set', value: 0, seconds: 3 * MINUTE }));
  }),
  idle('lists fail for the first part of an idle time', { seconds: OVER }, (stage) =>
    stage.at(WARM + MINUTE, () => stage.cast({ call: 'list', seconds: 8 * MINUTE, fate: LISTS_FAIL })),
  ),
  idle('lists fail for eight minutes, in which a machine was used', { seconds: OVER }, (stage) => {
    stage.at(WARM + 5 * MINUTE, () => stage.cast({ call: 'list', seconds: 8 * MINUTE, fate: LISTS_FAIL }));
    stage.at(WARM + 6 * MINUTE, () => stopUse(stage, 'a', 1));
    stage.at(WARM + 12 * MINUTE, () => stopUse(stage, 'a'));
  }),
  idle('the operator restarts during a warning', { seconds: DUE + 30 * MINUTE }, (stage) =>
    stage.at(WARNED + MINUTE, () => stage.killAll()),
  ),
  idle('the operator restarts every ten minutes', { seconds: DUE + 30 * MINUTE }, (stage) => {
    for (let second = WARM; second < DUE + 30 * MINUTE; second += 10 * MINUTE)
      stage.at(second, () => stage.killAll());
  }),
  idle('the clock of the operator jumps by two hours during a warning', {}, (stage) =>
    stage.at(WARNED + MINUTE, () => {
      for (const { machine } of stage.world.processes) machine.wallSkewMs += 7_200_000;
      stage.invariants.clockJumped();
    }),
  ),
  idle(
    'a person lets an idle machine end that was only reported',
    { policy: { idle: { ...DESTROY.idle, action: 'Report' } }, seconds: OVER + 10 * MINUTE },
    (stage) => stage.at(OVER, () => stage.users.setPolicies('a', DESTROY)),
  ),
  idle('a person holds an idle machine during its warning', {}, (stage) =>
    stage.at(WARNED + MINUTE, () => stage.users.hold('a')),
  ),
  idle('a person extends an idle time, which then ends', { seconds: OVER + 10 * MINUTE }, (stage) =>
    stage.at(WARNED + MINUTE, () => stage.users.extendIdle('a', later(stage, 12))),
  ),
  idle('a person extends an idle time by a text that is no time', {}, (stage) =>
    stage.at(WARNED + MINUTE, () => stage.users.extendIdle('a', 'until tomorrow')),
  ),
  idle(
    'a person starts a machine again that was destroyed as idle',
    { seconds: OVER + 10 * MINUTE },
    (stage) => stage.at(OVER, () => stage.users.extendIdle('a', later(stage, 60))),
  ),
  idle(
    'a person starts a machine again that was stopped as idle',
    { policy: STOP, seconds: OVER + 10 * MINUTE },
    (stage) => stage.at(OVER, () => stage.users.extendIdle('a', later(stage, 60))),
  ),
  idle(
    'a stop for idleness is answered and not carried out, and the machine is used',
    { policy: STOP, seconds: OVER },
    (stage) => {
      stage.at(DUE - MINUTE, () => stage.cast({ call: 'label', seconds: 150, fate: NOT_CARRIED_OUT }));
      stage.at(DUE + 90, () => stopUse(stage, 'a', 1));
    },
  ),
  idle(
    'the reply to a destroy for idleness is lost, and the operator restarts',
    { seconds: OVER + 5 * MINUTE },
    (stage) =>
      stage.at(DUE - MINUTE, () =>
        stage.strike({
          call: 'destroy',
          fate: { loseResponse: true },
          meanwhile: () => stage.after(0.5, () => stage.killAll()),
        }),
      ),
  ),
  idle('the operator dies before it sends a destroy for idleness', { seconds: OVER + 35 * MINUTE }, (stage) =>
    stage.at(DUE - MINUTE, () => stage.strike({ call: 'destroy', fate: { crash: 'before' } })),
  ),
  idle(
    'a destroy for idleness fails for two minutes, and the machine is used meanwhile',
    { seconds: OVER },
    (stage) => {
      stage.at(DUE - MINUTE, () => stage.cast({ call: 'destroy', seconds: 180, fate: LISTS_FAIL }));
      stage.at(DUE + 60, () => stopUse(stage, 'a', 1));
    },
  ),
  idle(
    'the marketplace shows no use of any of six machines, which all work',
    { seconds: DUE + 20 * MINUTE, fleet: 6, works: true },
    (stage) => {
      stage.users.account.set({ maxUnhealthyHold: '5m' });
      stage.at(5 * MINUTE, () => wrongFigure(stage, undefined, { change: 'set', value: 0, seconds: 7200 }));
    },
  ),
];
