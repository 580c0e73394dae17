import type { OperatorBench } from '../builders/running-operator.ts';
import { type CommandLine, commandLine } from './command-line.ts';

/** A person with a kubeconfig, in the namespace of a bench's operator. */
export interface ClusterPerson {
  readonly cli: CommandLine;
  /** Address of the bench's marketplace: the objects' own address is not reachable. */
  readonly url: string;
  leave(): Promise<void>;
}

/** `kubeconfigPath`: the administrator's unless given. */
export async function clusterPerson(
  bench: OperatorBench,
  kubeconfigPath = bench.cluster.kubeconfigPath,
): Promise<ClusterPerson> {
  const server = await bench.simulator.listen();
  const cli = commandLine({
    KUBECONFIG: kubeconfigPath,
    GPU_RENTAL_NAMESPACE: bench.namespace,
    GPU_RENT_URL: server.url,
    GPU_RENT_API_KEY: bench.simulator.apiKey,
  });
  return {
    cli,
    url: server.url,
    async leave() {
      cli.leave();
      await server.close();
    },
  };
}
