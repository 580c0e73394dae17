import { findFreePort } from '../../test/cluster/free-port.ts';
import { type RunningProcess, startGpuRent } from './processes.ts';
import { DEMO_NAMESPACE, type Stage } from './stage.ts';

export interface PickerPlan {
  readonly stage: Stage;
  /** The binary. */
  readonly envoy: string;
  /** Port for clients. */
  readonly port: number;
  /** URL of the operator for reports. */
  readonly operatorUrl: string;
}

/** Starts `gpu-rent endpoint-picker` with its Envoy; resolves when it serves. Rejects with a sentence if it ends before. */
export async function startPicker({ stage, envoy, port, operatorUrl }: PickerPlan): Promise<RunningProcess> {
  const serves = Promise.withResolvers<void>();
  const picker = startGpuRent({
    name: 'picker',
    logFolder: stage.logFolder,
    onLog: ({ msg }) => {
      if (msg === 'picker started') serves.resolve();
    },
    args: [
      ...['endpoint-picker', '--kubeconfig', stage.cluster.kubeconfigPath],
      ...['--watch-namespace', DEMO_NAMESPACE, '--envoy', envoy, '--listen-address', `127.0.0.1:${port}`],
      ...['--bind-address', `127.0.0.1:${await findFreePort()}`, '--metrics-bind-address', '0'],
      ...['--address-map', '203.0.113.0/24=127.0.0.1', '--operator-url', operatorUrl],
      ...['--shutdown-grace', '1s'],
    ],
  });
  try {
    await Promise.race([serves.promise, picker.ended.then((why) => Promise.reject(new Error(why)))]);
  } catch (error) {
    await picker.stop();
    throw error;
  }
  return picker;
}
