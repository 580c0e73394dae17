import { EventEmitter } from 'node:events';
import { create, type DescMessage, type MessageInitShape, type MessageShape } from '@bufbuild/protobuf';
import { AccessLogType } from '../../proto/gen/envoy/access_log_pb.js';
import { StreamAccessLogsMessageSchema } from '../../proto/gen/envoy/access_log_service_pb.js';
import { ClusterSchema } from '../../proto/gen/envoy/cluster_pb.js';
import { DiscoveryRequestSchema, type DiscoveryResponse } from '../../proto/gen/envoy/discovery_pb.js';
import { ClusterLoadAssignmentSchema } from '../../proto/gen/envoy/endpoint_pb.js';
import { ProcessingRequestSchema, type ProcessingResponse } from '../../proto/gen/envoy/ext_proc_pb.js';
import {
  RateLimitRequestSchema,
  type RateLimitResponse,
  RateLimitResponse_Code,
} from '../../proto/gen/envoy/rate_limit_service_pb.js';
import { CONNECTION_KEY } from '../../src/gateway/connection-limit.ts';
import type { Picker } from '../../src/gateway/picker.ts';
import { METADATA, NOTES } from '../../src/gateway/request-notes.ts';

type Handler = (call: unknown, answer?: (error: unknown, response: RateLimitResponse) => void) => void;

/** gRPC stream from Envoy's side. */
class Call<Sent extends DescMessage, Received> extends EventEmitter {
  readonly received: Received[] = [];
  readonly #schema: Sent;

  constructor(schema: Sent) {
    super();
    this.#schema = schema;
  }

  send(message: MessageInitShape<Sent>): void {
    this.emit('data', create(this.#schema, message) as MessageShape<Sent>);
  }

  /** Records a response of the picker. */
  write(response: Received): void {
    this.received.push(response);
  }

  /** Ends the stream; the picker calls this. */
  end(): void {}
}

/** A request, from the side of Envoy. */
export interface StandInRequest {
  /** Responses of the picker so far. */
  readonly answers: readonly ProcessingResponse[];
  /** Returns the ID that the picker assigned; empty before a pick. */
  id(): string;
  /** Closes the stream, as when the client leaves or the response begins. */
  close(): void;
}

/** Calls the services of a picker as Envoy does, without a network. */
export class EnvoyStandIn {
  readonly #picker: Picker;

  constructor(picker: Picker) {
    this.#picker = picker;
  }

  #handler(name: string): Handler {
    const found = this.#picker.services.flatMap(({ handlers }) => handlers[name] ?? []);
    return found[0] as Handler;
  }

  /** Accepts all clusters and endpoints, now and later. Returns what ends the connection. */
  connect(): () => void {
    const call = new Call<typeof DiscoveryRequestSchema, DiscoveryResponse>(DiscoveryRequestSchema);
    call.write = ({ typeUrl, versionInfo, nonce }) => {
      // As a message that comes later.
      queueMicrotask(() => call.send({ typeUrl, versionInfo, responseNonce: nonce }));
    };
    this.#handler('StreamAggregatedResources')(call);
    for (const { typeName } of [ClusterSchema, ClusterLoadAssignmentSchema])
      call.send({ typeUrl: `type.googleapis.com/${typeName}` });
    return () => void call.emit('end');
  }

  /** `isWhole`: the request has no body, or all of it is there. */
  request(headers: Readonly<Record<string, string>>, isWhole = true): StandInRequest {
    const call = new Call<typeof ProcessingRequestSchema, ProcessingResponse>(ProcessingRequestSchema);
    this.#handler('Process')(call);
    const listed = Object.entries(headers).map(([key, value]) => ({ key, value }));
    call.send({
      request: {
        case: 'requestHeaders',
        value: { headers: { headers: listed }, endOfStream: isWhole },
      },
    });
    const id = (): string => {
      const notes = call.received.flatMap(({ dynamicMetadata }) => dynamicMetadata?.[METADATA] ?? []);
      return String((notes[0] as Record<string, unknown> | undefined)?.[NOTES.id] ?? '');
    };
    return { answers: call.received, id, close: () => void call.emit('end') };
  }

  /** Logs that a request lasts, while its body arrives. */
  lasts(id: string, isArriving = true): void {
    this.#log(id, {
      accessLogType: AccessLogType.DownstreamPeriodic,
      ...(!isArriving && { timeToLastRxByte: { seconds: 1n } }),
    });
  }

  /** Logs the end of a request. */
  ends(id: string, responseCode: number): void {
    this.#log(id, {}, responseCode);
  }

  #log(id: string, more: object, responseCode = 0): void {
    const metadata = { filterMetadata: { [METADATA]: { [NOTES.id]: id } } };
    const entry = { commonProperties: { metadata, ...more }, response: { responseCode } };
    this.#send({ logEntries: { case: 'httpLogs', value: { logEntry: [entry] } } });
  }

  #send(message: MessageInitShape<typeof StreamAccessLogsMessageSchema>): void {
    const call = new Call<typeof StreamAccessLogsMessageSchema, never>(StreamAccessLogsMessageSchema);
    this.#handler('StreamAccessLogs')(call);
    call.send(message);
  }

  /** Opens a connection of a client. False if the picker refuses it. */
  open(address: string, port: number): boolean {
    const value = `${address}:${port} 7.000000000`;
    const request = create(RateLimitRequestSchema, {
      descriptors: [{ entries: [{ key: CONNECTION_KEY, value }] }],
    });
    let isOpen = false;
    this.#handler('ShouldRateLimit')({ request }, (_, { overallCode }) => {
      isOpen = overallCode === RateLimitResponse_Code.OK;
    });
    return isOpen;
  }

  /** Logs the end of that connection. */
  close(address: string, port: number): void {
    const value = { address, portSpecifier: { case: 'portValue' as const, value: port } };
    const downstreamRemoteAddress = { address: { case: 'socketAddress' as const, value } };
    const commonProperties = { downstreamRemoteAddress, startTime: { seconds: 7n } };
    this.#send({ logEntries: { case: 'tcpLogs', value: { logEntry: [{ commonProperties }] } } });
  }
}
