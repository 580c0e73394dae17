import { type ControlRequest, controlPlace, isLoopback, type SocketPlace } from './addresses.ts';
import type { BodyBounds } from './calls/incoming-request.ts';
import { type Certificate, type HttpServer, listen } from './http-server.ts';
import type { Service } from './service.ts';

/** Where and how a simulator listens. Everything has a default. */
export interface ListenOptions {
  /** 0, the default, picks a free one. */
  readonly port?: number | undefined;
  /** An IP address of this machine; 127.0.0.1 unless given, `0.0.0.0` or `::` for all of them. */
  readonly host?: string | undefined;
  /** Serves https with it. */
  readonly certificate?: Certificate | undefined;
  /**
   * Where `/sim/` is served. It takes no key: unless an address is named here, it is on the loopback address, with the
   * marketplace if that is there, on a port of its own if not.
   */
  readonly control?: ControlRequest | undefined;
}

/** Where a listening simulator is reached. */
export interface Listening {
  readonly url: string;
  readonly port: number;
  /** Where the control endpoints are; null without them. */
  readonly controlUrl: string | null;
  /**
   * Connections that begin from now on get another certificate. Throws the error of Node if that is unusable, or if
   * it listens without one.
   */
  replaceCertificate(certificate: Certificate): void;
  /** Stops listening and breaks what is still open. */
  close(): Promise<void>;
}

/** What one simulator serves. */
export interface Served {
  /** All its endpoints. */
  readonly whole: Service;
  /** The same in two parts, for two sockets; undefined without control endpoints. */
  readonly parts: (() => { readonly market: Service; readonly control: Service }) | undefined;
  readonly bounds: (url: string) => BodyBounds;
  readonly onError: (error: unknown) => void;
}

/** Opens one socket, or two if the control endpoints have a place of their own. Rejects with the error of Node. */
export async function listenAt(served: Served, options: ListenOptions): Promise<Listening> {
  const { whole, parts, bounds, onError } = served;
  const { certificate } = options;
  const place = { host: options.host ?? '127.0.0.1', port: options.port ?? 0 };
  const controlAt = controlPlace(place, options.control);
  if (!parts || controlAt === 'shared') {
    const server = await listen(whole, { place, certificate, bounds, onError });
    return listeningOf(server, parts ? server : undefined);
  }
  const { market, control } = parts();
  const server = await listen(market, { place, certificate, bounds, onError });
  try {
    const http = { place: controlAt, certificate: controlCertificate(controlAt, certificate) };
    return listeningOf(server, await listen(control, { ...http, bounds, onError }));
  } catch (error) {
    await server.close();
    throw error;
  }
}

/** Plain http on loopback, where nobody listens in and no certificate names the address. */
function controlCertificate({ host }: SocketPlace, certificate: Certificate | undefined) {
  return isLoopback(host) ? undefined : certificate;
}

function listeningOf(server: HttpServer, control: HttpServer | undefined): Listening {
  const servers = control && control !== server ? [server, control] : [server];
  return {
    url: server.url,
    port: server.port,
    controlUrl: control ? `${control.url}/sim` : null,
    replaceCertificate(certificate) {
      server.replaceCertificate(certificate);
      if (control?.url.startsWith('https:')) control.replaceCertificate(certificate);
    },
    async close() {
      await Promise.all(servers.map((each) => each.close()));
    },
  };
}
