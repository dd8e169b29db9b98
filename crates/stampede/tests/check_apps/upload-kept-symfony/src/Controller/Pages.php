<?php

declare(strict_types=1);

namespace App\Controller;

use App\Files;
use App\Site;
use Symfony\Component\HttpFoundation\File\UploadedFile;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\Response;

/** Planted fault: a service keeps the last upload, and `files` shows its name to everyone. */
final class Pages extends Site
{
    public function __construct(private Files $files)
    {
    }

    public function home(): Response
    {
        $file = '<input type="file" name="file">';

        return $this->page("<form method=\"post\" action=\"/upload\" enctype=\"multipart/form-data\">$file</form>");
    }

    public function upload(Request $request): Response
    {
        $file = $request->files->get('file');
        if (!$file instanceof UploadedFile) {
            return $this->page('Nothing was sent.');
        }
        $this->files->last = $file;

        return $this->page('Taken: ' . htmlspecialchars($file->getClientOriginalName()));
    }

    public function files(): Response
    {
        return $this->page('The last file: ' . htmlspecialchars($this->files->last?->getClientOriginalName() ?? 'none'));
    }
}
