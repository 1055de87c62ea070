export async function runDemo(args: string[]): Promise<number> { return args.length; }
