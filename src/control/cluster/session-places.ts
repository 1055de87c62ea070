export interface SessionPlaces {
  elsewhere(sessionId: string): Promise<string | undefined> | undefined;
  call(machineId: string, request: string): Promise<string>;
  onCall(handler: (request: string) => Promise<string>): void;
  readonly lives: number;
}
