import {
  type Controller,
  type ControllerOptions,
  conflict,
  createController,
  done,
  type ReconcileContext,
  type Result,
} from './controller.ts';
import type { KubeClient } from './kube/kube-client.ts';
import { type KubeObject, objectKey, type Resource } from './kube/kube-object.ts';
import { CurrentObjects } from './list-watch/current-objects.ts';
import type { Informer } from './list-watch/informer.ts';

export interface ObjectContext<T> extends ReconcileContext {
  /** Key of the object in informer and queue. */
  readonly key: string;
  /** Reads like {@link CurrentObjects.readNow}, for this key. */
  readonly readNow: () => Promise<T | undefined>;
}

/** `T` is the kind that the controller reconciles. */
export interface ObjectControllerOptions<T extends KubeObject>
  extends Omit<ControllerOptions, 'reconcile' | 'priorityOf'> {
  /** The cache of the kind. */
  readonly informer: Pick<Informer<T>, 'get' | 'list' | 'isCurrent' | 'keep' | 'onChange'>;
  readonly client: Pick<KubeClient, 'get' | 'replace'>;
  readonly resource: Resource;
  /**
   * Brings `object` closer to its desired state. The object is at least as new as the last write of this process. After
   * a conflict, returned or thrown, the next reconcile reads it from the API server.
   */
  readonly reconcile: (object: T, context: ObjectContext<T>) => Promise<Result>;
  /** Priority of waiting objects: the higher number first. Deletion comes before all. Default 0. */
  readonly priorityOf?: ((object: T) => number) | undefined;
  /** Called for a deleted object when its key is reconciled, so never during a reconcile of that key. */
  readonly onGone?: ((key: string) => void) | undefined;
  /** Called at once when an object is deleted, also while this process does not lead. */
  readonly onDeleted?: ((object: T) => void) | undefined;
}

export interface ObjectController extends Controller {
  /** Adds a key to the queue, with the priority of its object or a higher one. No effect before the start. */
  enqueue(key: string, atLeast?: number): void;
}

/** Deletions end costs, so they come first. */
const DELETION_PRIORITY = 10;

/**
 * Creates a controller of one kind. It reconciles every object at the start and after each change, with the newest
 * state that this process can know. A standby replica collects no keys: it starts with the objects that exist then.
 */
export function createObjectController<T extends KubeObject>(
  options: ObjectControllerOptions<T>,
): ObjectController {
  const { informer, client, resource, clock, onGone, onDeleted } = options;
  const objects = new CurrentObjects<T>({ informer, client, resource, clock });
  let isStarted = false;

  const reconcile = async (key: string, context: ReconcileContext): Promise<Result> => {
    const current = await objects.read(key);
    switch (current.type) {
      case 'behind':
        return conflict(current.afterMs);
      case 'gone':
        onGone?.(key);
        return done;
      case 'found': {
        const readNow = () => objects.readNow(key);
        const pass = () => options.reconcile(current.object, { ...context, key, readNow });
        const result = await objects.duringPass(key, pass);
        if (result.type === 'conflict') objects.lostRace(key);
        return result;
      }
    }
  };

  const priorityOf = (key: string): number => {
    const object = informer.get(key);
    if (object?.metadata.deletionTimestamp !== undefined) return DELETION_PRIORITY;
    return (object && options.priorityOf?.(object)) ?? 0;
  };
  const controller = createController({ ...options, reconcile, priorityOf });
  const enqueue = (key: string, atLeast?: number): void => {
    if (!isStarted) return;
    controller.queue.add(key, atLeast);
  };
  informer.onChange(({ key, type, object }) => {
    enqueue(key);
    if (type === 'deleted') onDeleted?.(object);
  });
  return {
    ...controller,
    enqueue,
    start() {
      isStarted = true;
      for (const object of informer.list()) enqueue(objectKey(object.metadata));
      controller.start();
    },
  };
}
