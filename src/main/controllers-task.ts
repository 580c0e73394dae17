import type { Controller } from '../runtime/controller.ts';
import type { LeaderTask } from '../runtime/manager.ts';
import type { RuntimeMetrics } from '../server/runtime-metrics.ts';

interface ControllersTaskOptions {
  readonly metrics: Pick<RuntimeMetrics, 'watchQueue'>;
  /** How long all of them together may take to end. */
  readonly graceMs: number;
}

/**
 * Controllers as one task. They are told to stop in one moment: none begins anything while another ends, and one grace
 * is enough for all. The task has ended when each of them has, be it with an error.
 */
export function controllersTask(
  controllers: readonly Pick<Controller, 'name' | 'queue' | 'start' | 'stop'>[],
  { metrics, graceMs }: ControllersTaskOptions,
): LeaderTask {
  return {
    name: 'controllers',
    start() {
      for (const controller of controllers) {
        metrics.watchQueue(controller.name, controller.queue);
        controller.start();
      }
    },
    async stop() {
      const ends = await Promise.allSettled(controllers.map((controller) => controller.stop(graceMs)));
      for (const end of ends) if (end.status === 'rejected') throw end.reason;
    },
  };
}
