import { create } from '@bufbuild/protobuf';
import { type ServerUnaryCall, type sendUnaryData, status } from '@grpc/grpc-js';
import { ExternalProcessor } from '../../proto/gen/envoy/ext_proc_pb.js';
import {
  Health,
  type HealthCheckRequest,
  type HealthCheckResponse,
  HealthCheckResponse_ServingStatus,
  HealthCheckResponseSchema,
} from '../../proto/gen/grpc/health_pb.js';
import type { GrpcService } from './grpc-server.ts';

/** Names that report readiness: those of the endpoint picker protocol, and the empty name for the whole server. */
const READY = new Set(['', 'readiness', ExternalProcessor.typeName]);
const LIVE = 'liveness';

/**
 * Returns the gRPC health service: `liveness` is always healthy, the other names report whether requests are accepted.
 */
export function healthService(isReady: () => boolean): GrpcService {
  const check = (
    { request }: ServerUnaryCall<HealthCheckRequest, HealthCheckResponse>,
    answer: sendUnaryData<HealthCheckResponse>,
  ): void => {
    const { service } = request;
    if (service !== LIVE && !READY.has(service)) {
      answer({
        code: status.NOT_FOUND,
        details: `there is no service ${JSON.stringify(service.slice(0, 100))}`,
      });
      return;
    }
    const serves = service === LIVE || isReady();
    const { SERVING, NOT_SERVING } = HealthCheckResponse_ServingStatus;
    answer(null, create(HealthCheckResponseSchema, { status: serves ? SERVING : NOT_SERVING }));
  };
  return { service: Health, handlers: { Check: check } };
}
