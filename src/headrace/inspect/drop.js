"use strict";
// Sends what was chosen, dropped or pasted to the server that this page came from, and shows the report in a frame of its own.
(() => {
  const form = document.querySelector("form");
  const area = document.getElementById("text");
  const files = document.getElementById("files");
  const status = document.getElementById("status");
  const result = document.getElementById("result");
  const frame = document.querySelector("iframe");
  const save = document.getElementById("save");
  let url = "";

  const base64 = (file) => new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).slice(String(reader.result).indexOf(",") + 1));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });

  // A recording is several files: the body, and the facts of the answer, which hold the times.
  const packed = async (chosen) => {
    const facts = chosen.find((file) => file.name.endsWith(".response.json"));
    const body = chosen.find((file) => !/\.(request|response)\.json$/.test(file.name));
    if (!body) throw new Error("there is no body among these files");
    if (!facts) return [body, body.name];
    const response = JSON.parse(await facts.text());
    const text = JSON.stringify({ headrace_capture: 1, body: await base64(body), source: body.name, response });
    return [new Blob([text]), body.name];
  };

  const send = async (body, name) => {
    status.textContent = "Reading …";
    const query = new URLSearchParams({ name });
    const protocol = document.getElementById("protocol").value;
    if (protocol) query.set("protocol", protocol);
    const answer = await fetch(form.dataset.to + "?" + query, { method: "POST", body, headers: { "content-type": "application/octet-stream" } });
    const text = await answer.text();
    if (!answer.ok) {
      let said = text;
      try { said = JSON.parse(text).error.message; } catch { /* it is shown as it is */ }
      throw new Error(said);
    }
    URL.revokeObjectURL(url);
    url = URL.createObjectURL(new Blob([text], { type: "text/html" }));
    save.href = url;
    save.download = name.replace(/[^\w.-]+/g, "-") + ".html";
    frame.srcdoc = text;
    result.hidden = false;
    status.textContent = "The report is below.";
    result.scrollIntoView({ block: "start" });
  };

  const take = async (chosen) => {
    try {
      if (chosen.length) await send(...(await packed(chosen)));
      else if (area.value) await send(new Blob([area.value]), "pasted");
      else status.textContent = "Choose a file, drop one here, or paste a stream.";
    } catch (error) {
      status.textContent = "That did not work: " + error.message;
    }
  };

  form.addEventListener("submit", (event) => { event.preventDefault(); take([...files.files]); });
  files.addEventListener("change", () => take([...files.files]));
  addEventListener("dragover", (event) => { event.preventDefault(); document.body.classList.add("over"); });
  addEventListener("dragleave", () => document.body.classList.remove("over"));
  addEventListener("drop", (event) => {
    event.preventDefault();
    document.body.classList.remove("over");
    const dropped = [...event.dataTransfer.files];
    if (dropped.length) { take(dropped); return; }
    area.value = event.dataTransfer.getData("text");
    files.value = "";
    take([]);
  });
})();
