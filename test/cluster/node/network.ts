import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { z } from 'zod';

const run = promisify(execFile);

/** The addresses of one node: all of them in one network, which is that node's alone on this machine. */
export interface NodeNetwork {
  /** Name of the interface on this machine while the node runs. */
  readonly interfaceName: string;
  /** Routed to the node: Services, Pods and the link. */
  readonly all: string;
  readonly services: string;
  readonly pods: string;
  readonly dnsAddress: string;
  /** Address of this machine, as Pods see it. */
  readonly hostAddress: string;
  readonly nodeAddress: string;
}

/** 10.96.0.0/12, which kubeadm gives to Services, has room for sixteen. */
const FIRST = 96;
const NETWORKS = 16;

export function networkAt(index: number): NodeNetwork {
  const prefix = `10.${FIRST + index}`;
  return {
    interfaceName: `gpurent-node${index}`,
    all: `${prefix}.0.0/16`,
    services: `${prefix}.0.0/17`,
    dnsAddress: `${prefix}.0.10`,
    pods: `${prefix}.128.0/24`,
    hostAddress: `${prefix}.255.1`,
    nodeAddress: `${prefix}.255.2`,
  };
}

/** Returns true if two IPv4 networks overlap; an address without bits is a single address. */
export function overlap(one: string, other: string): boolean {
  const [a, b] = [parse(one), parse(other)];
  const bits = Math.min(a.bits, b.bits);
  return bits === 0 || a.value >>> (32 - bits) === b.value >>> (32 - bits);
}

function parse(network: string): { value: number; bits: number } {
  const [address = '', bits = '32'] = network.split('/');
  const value = address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
  return { value, bits: Number(bits) };
}

const routes = z.array(z.looseObject({ dst: z.string(), type: z.string().optional() }));

/** Networks that this machine reaches other than by its default route. */
async function usedNetworks(ip: string): Promise<string[]> {
  const { stdout } = await run(ip, ['-4', '-json', 'route', 'show', 'table', 'all']);
  return routes
    .parse(JSON.parse(stdout))
    .map(({ dst }) => dst)
    .filter((dst) => /^\d+\.\d+\.\d+\.\d+(\/\d+)?$/.test(dst));
}

/**
 * Connects this machine with the network namespace of that process by a pair of interfaces, and routes the node's
 * addresses there. The pair goes when the namespace goes. Rejects if every network is in use.
 */
export async function connectNode(ip: string, pid: number): Promise<NodeNetwork> {
  const used = await usedNetworks(ip);
  const refusals: string[] = [];
  for (let index = 0; index < NETWORKS; index += 1) {
    const network = networkAt(index);
    const taken = used.find((one) => overlap(one, network.all));
    if (taken !== undefined) {
      refusals.push(`${network.all}: ${taken} is routed elsewhere`);
      continue;
    }
    const { interfaceName: name } = network;
    const pair = ['link', 'add', name, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', String(pid)];
    try {
      // The kernel gives a name once: of two that start at the same time one goes on to the next.
      await run(ip, pair);
    } catch (error) {
      refusals.push(`${network.all}: ${messageOf(error)}`);
      continue;
    }
    await run(ip, ['addr', 'add', `${network.hostAddress}/30`, 'dev', name]);
    await run(ip, ['link', 'set', name, 'up']);
    await run(ip, ['route', 'add', network.all, 'via', network.nodeAddress, 'dev', name]);
    return network;
  }
  throw new Error(`No network is free for the node:\n${refusals.join('\n')}`);
}

function messageOf(error: unknown): string {
  const stderr = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : '';
  return stderr || String(error);
}

/** Takes the pair of interfaces away at once; without it the kernel does so a moment after the namespace is gone. */
export async function disconnectNode(ip: string, { interfaceName }: NodeNetwork): Promise<void> {
  await run(ip, ['link', 'delete', interfaceName]).catch(() => {});
}

/** Configures the other end within the node's network namespace. */
export async function connectToHost(ip: string, network: NodeNetwork): Promise<void> {
  await run(ip, ['addr', 'add', `${network.nodeAddress}/30`, 'dev', 'eth0']);
  await run(ip, ['link', 'set', 'eth0', 'up']);
  await run(ip, ['route', 'add', 'default', 'via', network.hostAddress]);
}
