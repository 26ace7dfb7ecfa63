// Server-sent events: bytes in, events out (HTML standard, section 9.2.6).
//
// The rule of this file: how the network cut the bytes makes no difference, and an event that did not end with its blank line never came.

export interface ServerEvent {
  id: string | null;
  event: string;
  data: string;
}

export class SseParser {
  private readonly decoder = new TextDecoder();
  private pieces: string[] = [];
  private endsWithCr = false;
  private data: string[] = [];
  private event = "";
  private id: string | null = null;

  /** Take the next bytes; return the events that are whole by now. */
  feed(bytes: Uint8Array): ServerEvent[] {
    let text = this.decoder.decode(bytes, { stream: true });
    if (text === "") return [];
    // A carriage return at the end of a read may be the first half of a line's end.
    if (this.endsWithCr && text.startsWith("\n")) text = text.slice(1);
    this.endsWithCr = text.endsWith("\r");
    const lines = text.split(/\r\n|\n|\r/);
    const events: ServerEvent[] = [];
    for (let n = 0; n < lines.length - 1; n++) {
      this.pieces.push(lines[n]!);
      const line = this.pieces.length === 1 ? this.pieces[0]! : this.pieces.join("");
      this.pieces = [];
      const event = this.take(line);
      if (event) events.push(event);
    }
    const rest = lines[lines.length - 1]!;
    if (rest !== "") this.pieces.push(rest);
    return events;
  }

  private take(line: string): ServerEvent | null {
    if (line === "") {
      const whole = this.data.length > 0 ? { id: this.id, event: this.event || "message", data: this.data.join("\n") } : null;
      this.data = [];
      this.event = "";
      return whole;
    }
    const colon = line.indexOf(":");
    if (colon === 0) return null;
    const name = colon < 0 ? line : line.slice(0, colon);
    let value = colon < 0 ? "" : line.slice(colon + 1);
    if (value.startsWith(" ")) value = value.slice(1);
    if (name === "data") this.data.push(value);
    else if (name === "event") this.event = value;
    else if (name === "id" && !value.includes("\0")) this.id = value;
    return null;
  }
}
