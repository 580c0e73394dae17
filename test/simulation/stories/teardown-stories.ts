import { answered } from './stage.ts';
import type { Story } from './story.ts';

const CONFLICT = answered({ kind: 'Status', status: 'Failure', reason: 'Conflict', code: 409 }, 409);

/** The end of an object. */
export const TEARDOWN_STORIES: readonly Story[] = [
  {
    name: 'an object with a Service is deleted with --cascade=orphan, and the garbage collector comes before its finalizer (L7)',
    seconds: 300,
    plot: (stage) => {
      stage.users.createInstance('serves', { ports: [{ containerPort: 8080, protocol: 'TCP' }] });
      stage.at(120, () => {
        if (!stage.world.kube.store.all(stage.world.kube.kind('endpointslices')).length)
          stage.invariants.report('L7', 'no slice leads to the machine of serves');
        stage.users.deleteOrphaning('serves');
      });
    },
  },
  {
    name: 'an object with a Service is deleted with --cascade=orphan, and a person takes its finalizers away at once',
    sweeps: true,
    seconds: 1_200,
    plot: (stage) => {
      stage.users.createInstance('serves', { ports: [{ containerPort: 8080, protocol: 'TCP' }] });
      stage.at(120, () => {
        if (!stage.world.kube.store.all(stage.world.kube.kind('endpointslices')).length)
          stage.invariants.report('I14', 'no slice leads to the machine of serves');
        stage.invariants.markHandled('serves');
        stage.users.deleteOrphaning('serves');
        stage.users.removeFinalizers('serves');
      });
    },
  },
  {
    name: 'an object is deleted, and the process never hears of the last edit before its guard would go',
    seconds: 300,
    plot: (stage) => {
      stage.at(100, () => stage.users.delete('a'));
      stage.at(104, () => {
        stage.blindLeader(1);
        stage.users.setPaused('a', true);
      });
    },
  },
  {
    name: 'an object is deleted, and the service answers a destroy that it ignores',
    seconds: 400,
    plot: (stage) => {
      stage.at(60, () => stage.cause({ name: 'delete-ignored', count: 1 }));
      stage.at(61, () => stage.users.delete('a'));
    },
  },
  {
    name: 'an object is deleted, and the service answers no destroy for half an hour: the operator asks less and less often',
    seconds: 2_600,
    plot: (stage) => {
      stage.at(100, () => {
        stage.cast({ call: 'destroy', seconds: 1_800, fate: { refusal: { status: 503, body: '' } } });
        stage.allow({ call: 'destroy', seconds: 1_800, max: 50, invariant: 'I10' });
        stage.users.delete('a');
      });
    },
  },
  {
    name: 'an object is deleted while its rent call is still to be carried out',
    seconds: 500,
    plot: (stage) => {
      stage.strike({ call: 'rent', fate: { lateMs: 100_000 } });
      stage.at(20, () => stage.users.delete('a'));
    },
  },
  {
    name: 'an object is deleted in the moment in which it rents, what came of it is not saved, and no list comes for a minute',
    seconds: 400,
    plot: (stage) => {
      stage.strike({
        call: 'rent',
        meanwhile: () => {
          stage.after(0.001, () => stage.users.delete('a'));
          stage.strike({ call: 'status', fate: answered({ kind: 'Status', code: 500 }, 500) });
          stage.after(1, () => stage.cast({ call: 'list', seconds: 60, fate: { loseRequest: true } }));
        },
      });
    },
  },
  {
    name: 'a person who wanted a machine kept that nobody has recorded wants it destroyed, while it is being marked as kept',
    seconds: 500,
    plot: (stage) => {
      stage.strike({
        call: 'rent',
        meanwhile: () => {
          stage.after(0.003, () => stage.killAll());
          stage.users.setDeletionPolicy('a', 'Retain');
          stage.users.delete('a');
        },
      });
      stage.strike({
        call: 'label',
        meanwhile: () => {
          stage.after(0.003, () => stage.killAll());
          stage.after(1, () => stage.users.setDeletionPolicy('a', 'Destroy'));
        },
      });
    },
  },
  {
    name: 'an object is deleted after the process died whose rent call is still to be carried out',
    seconds: 500,
    plot: (stage) => {
      stage.strike({
        call: 'rent',
        fate: { lateMs: 100_000 },
        meanwhile: () => stage.after(0.001, () => stage.killAll()),
      });
      stage.at(1.5, () => stage.users.delete('a'));
    },
  },
  {
    name: 'an object is deleted in the moment in which a machine of an older purchase appears too late',
    sweeps: true,
    seconds: 600,
    plot: (stage) => {
      stage.strike({ call: 'rent', fate: { lateMs: 175_000 } });
      stage.at(1, () => stage.cause({ name: 'lagging-list', seconds: 40 }));
      stage.at(217, () => stage.users.delete('a'));
    },
  },
  {
    name: 'an object is deleted, and twice in a row another write comes before the removal of its guard',
    seconds: 400,
    plot: (stage) =>
      stage.at(100, () => {
        for (const nth of [1, 2]) stage.strike({ call: 'intent', nth, fate: CONFLICT });
        stage.users.delete('a');
      }),
  },
  {
    name: 'three objects are deleted with --cascade=orphan, of which one keeps its machine (L7)',
    seconds: 300,
    plot: (stage) => {
      for (const name of ['b', 'c']) stage.users.createInstance(name, { ports: [{ containerPort: 80 }] });
      stage.at(100, () => {
        stage.users.setDeletionPolicy('b', 'Retain');
        for (const name of ['a', 'b', 'c']) stage.users.deleteAndOrphan(name);
      });
    },
  },
];
