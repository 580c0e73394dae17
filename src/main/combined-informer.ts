import { type KubeObject, objectKey, refOfKey } from '../runtime/kube/kube-object.ts';
import type { Informer } from '../runtime/list-watch/informer.ts';

/**
 * Several informers of one kind, each of its own namespace, as if they were one: where the operator watches
 * named namespaces it may not list all of them together.
 */
export function combineInformers<T>(byNamespace: ReadonlyMap<string, Informer<T>>): Informer<T> {
  const all = [...byNamespace.values()];
  const first = all[0]?.name ?? 'nothing';
  const owner = (key: string) => byNamespace.get(refOfKey(key).namespace ?? '');
  return {
    name: all.length > 1 ? `${first} and ${all.length - 1} more` : first,
    start() {
      for (const informer of all) informer.start();
    },
    stop: async () => {
      await Promise.all(all.map((informer) => informer.stop()));
    },
    synced: Promise.all(all.map((informer) => informer.synced)).then(() => {}),
    hasSynced: () => all.every((informer) => informer.hasSynced()),
    get: (key) => owner(key)?.get(key),
    list: () => all.flatMap((informer) => informer.list()),
    byIndex: (index, value) => all.flatMap((informer) => informer.byIndex(index, value)),
    onChange: (listener) => {
      const ways = all.map((informer) => informer.onChange(listener));
      return () => {
        for (const leave of ways) leave();
      };
    },
    keep(object: KubeObject) {
      if (!all[0]) throw new TypeError('There is no informer to keep objects');
      return all[0].keep(object);
    },
    wrote: (object: KubeObject) => owner(objectKey(object.metadata))?.wrote(object),
    isCurrent: (key) => owner(key)?.isCurrent(key) ?? true,
    health: () => worstOf(all.map((informer) => informer.health())),
  };
}

type Health = ReturnType<Informer<unknown>['health']>;

function worstOf(healths: readonly Health[]): Health {
  const contacts = healths.map((health) => health.lastContactAt);
  const known = contacts.filter((at) => at !== undefined);
  return {
    lastContactAt: known.length < contacts.length ? undefined : Math.min(...known),
    divergences: healths.reduce((sum, health) => sum + health.divergences, 0),
    rewoundSince: healths.find((health) => health.rewoundSince !== undefined)?.rewoundSince,
    failure: healths.find((health) => health.failure !== undefined)?.failure,
  };
}
