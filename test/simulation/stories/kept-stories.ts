import { answered, type Stage, type WrongField } from './stage.ts';
import type { Story } from './story.ts';

/** Machines run, and lists follow one another every ten seconds. */
const AT_WORK = 150;
/** A call that changes a machine is answered as if it had. */
const ANSWERED = answered({ success: true });
const NO_MACHINE = answered({ instances: null });

/**
 * Returns a story of a deleted object that leaves its machine stopped; `before` controls the calls and replies after
 * the deletion.
 */
function keptStopped(name: string, before: (stage: Stage) => void): Story {
  return {
    ...{ name, seconds: 420 },
    plot: (stage) => {
      stage.at(AT_WORK - 10, () => stage.users.setDeletionPolicy('a', 'Stop'));
      stage.at(AT_WORK, () => {
        before(stage);
        stage.users.delete('a');
      });
    },
  };
}

/** Makes the next lists or reads report the machine of `a` as stopped. */
function reportStopped(stage: Stage, endpoint: WrongField['endpoint'], count: number): void {
  const instance = stage.machineOf('a');
  const wrong = { field: 'actual_status', change: 'set', value: 'stopped', instance, count } as const;
  stage.wrong({ endpoint, ...wrong });
}

/** Answers every stop for the given seconds as successful, without effect. */
const ignoreStops = (stage: Stage, seconds: number): void =>
  stage.cast({ call: 'label', seconds, fate: ANSWERED });

/**
 * Returns a story in which the start of a stopped machine takes effect when its object is deleted; `then` follows the
 * call.
 */
function startedLate(what: string, then: (stage: Stage) => void): Story {
  return {
    name: `an object is deleted that keeps its machine stopped, ${what}`,
    seconds: 600,
    plot: (stage) => {
      stage.at(100, () => {
        stage.users.setDeletionPolicy('a', 'Stop');
        stage.users.setPowerState('a', 'Stopped');
      });
      stage.at(AT_WORK, () => {
        stage.strike({ call: 'label', fate: { lateMs: 100_000 }, meanwhile: () => then(stage) });
        stage.users.setPowerState('a', 'Running');
      });
      stage.at(AT_WORK + 3, () => stage.users.delete('a'));
    },
  };
}

/** A machine that `deletionPolicy: Stop` keeps bills its disk only once its object is gone. */
export const KEPT_STORIES: readonly Story[] = [
  keptStopped(
    'an object is deleted that keeps its machine stopped, and the call that stops it is lost',
    (stage) => stage.strike({ call: 'label', fate: { loseRequest: true } }),
  ),
  keptStopped(
    'an object is deleted that keeps its machine stopped, and the call that stops it is carried out a minute late',
    (stage) => stage.strike({ call: 'label', fate: { lateMs: 60_000 } }),
  ),
  keptStopped(
    'an object is deleted that keeps its machine stopped, and its stop is answered and ignored for a minute',
    (stage) => ignoreStops(stage, 60),
  ),
  keptStopped(
    'an object is deleted that keeps its machine stopped, its stop is ignored, and one list says that it stopped',
    (stage) => {
      ignoreStops(stage, 60);
      reportStopped(stage, 'list', 1);
    },
  ),
  keptStopped(
    'an object is deleted that keeps its machine stopped, its stop is ignored, two lists say that it stopped, and a read says the truth',
    (stage) => {
      ignoreStops(stage, 60);
      reportStopped(stage, 'list', 2);
    },
  ),
  keptStopped(
    'an object is deleted that keeps its machine stopped, its stop is ignored, two lists say that it stopped, and one read finds no machine',
    (stage) => {
      ignoreStops(stage, 60);
      reportStopped(stage, 'list', 2);
      stage.strike({ call: 'read', fate: NO_MACHINE });
    },
  ),
  keptStopped(
    'an object is deleted that keeps its machine stopped, its stop is ignored, and no read is answered while lists say that it stopped',
    (stage) => {
      ignoreStops(stage, 60);
      reportStopped(stage, 'list', 2);
      stage.cast({ call: 'read', seconds: 60, fate: { refusal: { status: 503, body: '' } } });
    },
  ),
  keptStopped(
    'an object is deleted that keeps its machine stopped, the process dies when its stop is answered and ignored, and one list says that it stopped',
    (stage) => {
      ignoreStops(stage, 60);
      reportStopped(stage, 'list', 1);
      stage.strike({ call: 'label', meanwhile: () => stage.after(0.01, () => stage.killAll()) });
    },
  ),
  {
    name: 'a machine reaches maxLifetime that is to be kept stopped, and its stop is answered and ignored for a minute',
    seconds: 600,
    plot: (stage) => {
      stage.users.setPolicies('a', { maxLifetime: '2m', deletionPolicy: 'Stop' });
      stage.at(100, () => ignoreStops(stage, 90));
    },
  },
  startedLate('and a call that starts the machine is carried out late', () => {}),
  startedLate(
    'a call that starts the machine is carried out late, and the process that sent it died',
    (stage) => stage.after(0.01, () => stage.killAll()),
  ),
];
