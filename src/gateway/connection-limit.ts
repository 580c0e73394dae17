import { create } from '@bufbuild/protobuf';
import type { ServerUnaryCall, sendUnaryData } from '@grpc/grpc-js';
import {
  type RateLimitRequest,
  type RateLimitResponse,
  RateLimitResponse_Code,
  RateLimitResponseSchema,
  RateLimitService,
} from '../../proto/gen/envoy/rate_limit_service_pb.js';
import type { Connection } from './client-connections.ts';
import type { GrpcService } from './grpc-server.ts';

/** Key of the descriptor with `ip:port` of the client of a new connection, a space and its start in seconds. */
export const CONNECTION_KEY = 'connection';

/**
 * Returns the rate-limit service of Envoy, called for each new connection: Envoy closes those that `onOpen` refuses.
 */
export function connectionLimitService(onOpen: (connection: Connection) => boolean): GrpcService {
  const decide = (
    { request }: ServerUnaryCall<RateLimitRequest, RateLimitResponse>,
    answer: sendUnaryData<RateLimitResponse>,
  ): void => {
    const entries = request.descriptors.flatMap((descriptor) => descriptor.entries);
    const connection = entries.find(({ key }) => key === CONNECTION_KEY)?.value;
    const { OK, OVER_LIMIT } = RateLimitResponse_Code;
    const isAllowed = connection === undefined || onOpen(connectionOf(connection));
    answer(null, create(RateLimitResponseSchema, { overallCode: isAllowed ? OK : OVER_LIMIT }));
  };
  return { service: RateLimitService, handlers: { ShouldRateLimit: decide } };
}

function connectionOf(value: string): Connection {
  const [place = '', start = ''] = value.split(' ');
  return { place, start };
}
