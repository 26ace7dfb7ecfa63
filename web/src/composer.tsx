// The box in which messages are written: to begin a run, to steer one, to stop one.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Conversation } from "./conversation.ts";
import { Icon } from "./icons.tsx";
import type { MediaPart, Part } from "./values.ts";

const MAX_IMAGE_BYTES = 5_000_000;

export function Composer({ conversation }: { conversation: Conversation }) {
  const [text, setText] = useState("");
  const [images, setImages] = useState<MediaPart[]>([]);
  const [trouble, setTrouble] = useState("");
  const box = useRef<HTMLTextAreaElement>(null);
  const files = useRef<HTMLInputElement>(null);
  const run = conversation.run;
  const isGoing = conversation.isBusy;
  const isWaiting = run?.status === "waiting";
  const canSend = !isWaiting && !conversation.isLoading && (text.trim() !== "" || images.length > 0);

  useEffect(() => {
    if (matchMedia("(pointer: fine)").matches) box.current?.focus();
  }, [conversation]);
  useLayoutEffect(() => {
    // Where the browser does not do it (`field-sizing`), the box grows by hand.
    if (!box.current || CSS.supports("field-sizing", "content")) return;
    box.current.style.height = "auto";
    box.current.style.height = `${box.current.scrollHeight}px`;
  }, [text]);
  useEffect(() => {
    if (conversation.returned === null) return;
    const { returned } = conversation;
    conversation.returned = null;
    setText((now) => (now.trim() === "" ? returned : `${returned}\n${now}`));
  });

  const send = () => {
    if (!canSend) return;
    const parts: Part[] = [...images];
    if (text.trim() !== "") parts.push({ type: "text", text: text.trim() });
    setText("");
    setImages([]);
    setTrouble("");
    void conversation.send(parts);
    box.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    send();
  };
  const add = async (list: Iterable<File>) => {
    for (const file of list) {
      if (!file.type.startsWith("image/")) setTrouble(`${file.name} is no image.`);
      else if (file.size > MAX_IMAGE_BYTES) setTrouble(`${file.name} has more than ${MAX_IMAGE_BYTES / 1e6} MB.`);
      else {
        const part = await mediaOf(file);
        setImages((now) => [...now, part]);
      }
    }
  };
  const placeholder = isWaiting ? "Answer the question above first" : isGoing ? "Say something while it works" : "Write a message";
  return (
    <form class="composer" onSubmit={(event) => { event.preventDefault(); send(); }}
      onDragOver={(event) => event.preventDefault()} onDrop={(event) => { event.preventDefault(); void add(event.dataTransfer?.files ?? []); }}>
      {(trouble || conversation.trouble) && <p class="wrong" role="alert">{trouble || conversation.trouble}</p>}
      <div class="box">
        {images.length > 0 && (
          <ul class="images" aria-label="Images to send">
            {images.map((one, n) => (
              <li key={n}>
                <img src={`data:${one.media_type};base64,${one.data}`} alt={one.name ?? "Image"} />
                <button type="button" class="quiet small" aria-label={`Remove ${one.name ?? "image"}`} onClick={() => setImages(images.filter((_, other) => other !== n))}><Icon name="close" size={14} /></button>
              </li>
            ))}
          </ul>
        )}
        <label class="hidden" for="message">Message</label>
        <textarea id="message" ref={box} rows={1} value={text} placeholder={placeholder} autocomplete="off" enterkeyhint="send" onKeyDown={onKeyDown}
          onInput={(event) => setText(event.currentTarget.value)}
          onPaste={(event) => { const pasted = [...(event.clipboardData?.files ?? [])]; if (pasted.length > 0) { event.preventDefault(); void add(pasted); } }} />
        <div class="row">
          <input ref={files} class="hidden" type="file" accept="image/*" multiple tabIndex={-1} aria-hidden="true" onChange={(event) => { void add(event.currentTarget.files ?? []); event.currentTarget.value = ""; }} />
          <button type="button" class="quiet" aria-label="Add images" title="Add images" onClick={() => files.current?.click()}><Icon name="image" /></button>
          <span class="hint">{isWaiting ? "" : isGoing ? "Esc stops" : "Shift + Enter: new line"}</span>
          {isGoing && (
            <button type="button" class="round stop" aria-label={isWaiting ? "Stop: give the run up" : "Stop"} title={isWaiting ? "Give the run up" : "Stop (Esc)"} disabled={conversation.isStopping} onClick={() => void conversation.stop()}><Icon name="stop" /></button>
          )}
          {(!isGoing || text.trim() !== "") && <button type="submit" class="round primary" aria-label={isGoing ? "Send to the run" : "Send"} title="Send (Enter)" disabled={!canSend}><Icon name="send" /></button>}
        </div>
      </div>
    </form>
  );
}

async function mediaOf(file: File): Promise<MediaPart> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = "";
  for (let from = 0; from < bytes.length; from += 0x8000) text += String.fromCharCode(...bytes.subarray(from, from + 0x8000));
  return { type: "media", kind: "image", media_type: file.type, data: btoa(text), name: file.name };
}
