import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { Clock, Timer } from '../../lib/clock.ts';
import type { Contract } from '../tables/contracts.ts';
import type { World } from '../world/world.ts';
import type { WorldStore } from '../world/world-store.ts';
import { shownStatus } from './boot.ts';

/*
 * Running machines that answer: a listener for each port of a machine in the market. Machines have documentation
 * addresses; tests map 203.0.113.0/24 to the address of the listeners.
 */

/** A port of a running machine. */
export interface MachinePort {
  readonly contract: Contract;
  /** Key in the port map: `8080/tcp`. */
  readonly containerPort: string;
  readonly hostPort: number;
}

/** Handler of HTTP on a port; undefined selects the default. */
export type MachineHttp = (port: MachinePort) => RequestListener | undefined;

/** Handler of a connection to the SSH port of a machine. The socket is paused and unread. */
export type MachineShell = (port: MachinePort, socket: Socket) => void;

export interface MachineServers {
  /** Opens the ports of machines that run now, and closes those of others. */
  follow(): void;
  /** Breaks all connections and stops polling. */
  close(): void;
}

const CHECK_EVERY_MS = 100;
const SSH_PORT = '22/tcp';
const SSH_GREETING = 'SSH-2.0-simulated_machine\r\n';

interface Options {
  /** The IP address to listen on. */
  readonly host: string;
  readonly store: WorldStore;
  readonly clock: Clock;
  /** Returns the world advanced to now, or to the point that it has reached. */
  readonly world: () => World;
  readonly http: MachineHttp;
  /** Undefined if the SSH port only greets, and then reports that there is no shell. */
  readonly shell?: MachineShell | undefined;
}

/** Keeps the ports of running machines open: checked every 100 ms, and by {@link MachineServers.follow}. */
export function serveMachines(options: Options): MachineServers {
  const open = new Map<string, Listener>();
  let timer: Timer | undefined;
  const follow = (): void => syncPorts(options, open);
  const check = (): void => {
    follow();
    timer = options.clock.setTimer(CHECK_EVERY_MS, check, { background: true });
  };
  check();
  return {
    follow,
    close() {
      timer?.cancel();
      for (const listener of open.values()) listener.close();
      open.clear();
    },
  };
}

function syncPorts(options: Options, open: Map<string, Listener>): void {
  const running = new Map(runningPorts(options.world()).map((port) => [keyOf(port), port]));
  for (const [key, listener] of open) {
    if (running.has(key)) continue;
    listener.close();
    open.delete(key);
  }
  for (const [key, port] of running) if (!open.has(key)) open.set(key, listenOn(options, port));
}

const keyOf = ({ contract, containerPort }: MachinePort): string => `${contract.id} ${containerPort}`;

/**
 * Returns the TCP ports of running machines, and the SSH port of those without direct ports; none of a machine whose
 * offer was sold twice.
 */
export function runningPorts(world: World): readonly MachinePort[] {
  return Object.values(world.tables.contracts)
    .filter(({ notes }) => notes.portsTaken !== true)
    .filter((contract) => shownStatus(contract, world.tables.machines[contract.machineId]) === 'running')
    .flatMap((contract) =>
      Object.entries(openPorts(contract))
        .filter(([containerPort]) => containerPort.endsWith('/tcp'))
        .map(([containerPort, hostPort]) => ({ contract, containerPort, hostPort })),
    );
}

function openPorts({ ports, runtype, sshPort }: Contract): Contract['ports'] {
  const isProxied = runtype !== 'args' && ports[SSH_PORT] === undefined;
  return isProxied ? { ...ports, [SSH_PORT]: sshPort } : ports;
}

interface Listener {
  close(): void;
}

/** Opens a port. If another process uses it a free one is chosen, which the port map then shows. */
function listenOn(options: Options, port: MachinePort): Listener {
  const server =
    port.containerPort === SSH_PORT
      ? shellServerOf(port, options.shell)
      : httpServerOf(port, options.http(port) ?? greet(port));
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
  });
  server.once('error', () => listenElsewhere(options, server, port));
  server.listen(port.hostPort, options.host);
  server.unref();
  return {
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

function shellServerOf(port: MachinePort, shell: MachineShell | undefined): Server {
  if (!shell) return createServer(refuseShell);
  return createServer({ pauseOnConnect: true }, (socket) => shell(port, socket));
}

/**
 * Greets as a check of the port expects, and disconnects a client that greets back; otherwise the client would wait
 * for ever.
 */
function refuseShell(socket: Socket): void {
  socket.write(SSH_GREETING);
  socket.once('data', () => socket.end(sshDisconnect('this simulated machine has no SSH server')));
}

const SSH_MSG_DISCONNECT = 1;
const SSH_DISCONNECT_BY_APPLICATION = 11;
/** Packets before the keys are exchanged are padded to this, with at least four bytes (RFC 4253, section 6). */
const SSH_BLOCK = 8;
const SSH_MIN_PADDING = 4;

/** Returns the packet with which a server reports why it ends a connection (RFC 4253, section 11.1). */
function sshDisconnect(why: string): Buffer {
  const uint32 = (value: number) => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(value);
    return bytes;
  };
  const text = Buffer.from(why, 'utf8');
  const payload = Buffer.concat([
    Buffer.from([SSH_MSG_DISCONNECT]),
    uint32(SSH_DISCONNECT_BY_APPLICATION),
    ...[uint32(text.length), text],
    uint32(0),
  ]);
  const header = 5;
  const padding = SSH_BLOCK - ((header + payload.length) % SSH_BLOCK);
  const padded = padding < SSH_MIN_PADDING ? padding + SSH_BLOCK : padding;
  return Buffer.concat([
    uint32(1 + payload.length + padded),
    ...[Buffer.from([padded]), payload, Buffer.alloc(padded)],
  ]);
}

/**
 * Returns the server of a machine. With a certificate it uses TLS and accepts only callers that its authorities signed.
 */
function httpServerOf({ contract: { env } }: MachinePort, answer: RequestListener): Server {
  const [cert, key, ca] = ['CERT', 'KEY', 'CA'].map((name) => env[`GPURENTAL_TLS_${name}`]);
  if (cert === undefined || key === undefined || ca === undefined) return createHttpServer(answer);
  const pem = (text: string) => Buffer.from(text, 'base64');
  const options = {
    cert: pem(cert),
    key: pem(key),
    ca: pem(ca),
    requestCert: true,
    rejectUnauthorized: true,
  };
  return createHttpsServer(options, answer);
}

function listenElsewhere(options: Options, server: Server, port: MachinePort): void {
  server.listen(0, options.host, () => {
    const free = (server.address() as AddressInfo).port;
    const contract = options.store.current().tables.contracts[port.contract.id];
    if (!contract) return;
    const isMapped = contract.ports[port.containerPort] !== undefined;
    const ports = isMapped ? { ...contract.ports, [port.containerPort]: free } : contract.ports;
    const sshPort = port.containerPort === SSH_PORT ? free : contract.sshPort;
    options.store.put('contracts', { ...contract, ports, sshPort });
  });
}

/** Returns the default answer to any request: 200 and the identity of the machine. */
function greet(port: MachinePort): RequestListener {
  return (request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ instance: port.contract.id, port: port.containerPort, path: request.url }));
  };
}
